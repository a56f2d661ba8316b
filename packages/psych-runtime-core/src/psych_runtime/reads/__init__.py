"""Reads: everything a caller learns about a Run, derived from its log and its header."""
