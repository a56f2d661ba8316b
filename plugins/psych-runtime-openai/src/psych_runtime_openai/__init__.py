"""Models behind any server that speaks the OpenAI chat completions API."""
