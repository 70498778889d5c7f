"""Everything the window says, and its translation."""
