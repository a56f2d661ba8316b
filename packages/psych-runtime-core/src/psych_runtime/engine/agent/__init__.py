"""The agent loop: turns, model calls, and the life of each tool call."""
