"""The log: Records, their bytes, and the fold that turns them into a Run's state."""
