"""Ports: one Protocol per file; what an adapter author implements."""
