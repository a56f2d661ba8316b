"""Stores: the in-memory reference, and the import paths of the store plugins."""
