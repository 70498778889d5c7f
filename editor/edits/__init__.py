"""Edits of the open scene as (path, before, after): found, applied, undone, kept or taken back."""
