"""The pytest plugin: what keeps a contract suite honest."""
