"""Tools that the runtime offers itself, one file each."""
