"""Tools: registration, schemas, execution, guards, and the built-in ones."""
