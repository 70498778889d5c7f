"""Pre-flight: the binding table of a world, and findings about it."""
