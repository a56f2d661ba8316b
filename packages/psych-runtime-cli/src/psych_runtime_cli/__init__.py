"""Psych Runtime."""
