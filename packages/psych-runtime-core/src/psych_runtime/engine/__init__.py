"""The engine: admission, the journal, Workers and the agent loop."""
