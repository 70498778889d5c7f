"""Edits of scenes that need the model: rename, remove, element handles, conversions, diffs."""
