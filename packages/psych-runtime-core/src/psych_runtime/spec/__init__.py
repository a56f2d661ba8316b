"""What an agent or a workflow is, as data: the Spec, its Version, and the checks on it."""
