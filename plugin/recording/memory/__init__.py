"""Memory of components in recordings: as JSON and named arrays, and back."""
