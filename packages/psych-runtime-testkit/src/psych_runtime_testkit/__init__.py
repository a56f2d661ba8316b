"""Contract suites for every Psych Runtime port, for adapter authors and for Psych Runtime itself."""
