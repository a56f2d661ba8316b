"""What `psych-testkit new` writes."""
