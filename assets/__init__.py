"""Bundled robots (data only)."""
