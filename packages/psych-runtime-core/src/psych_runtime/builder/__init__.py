"""Fluent builders: Specs and tool registrations in one go."""
