"""What surrounds a model call: prompt assembly, retry decisions, prices."""
