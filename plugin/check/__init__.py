"""Pre-flight: the binding table of a world, and what looks wrong in it."""
