"""YAML as text: the place of every value, edits that touch only their lines, variables."""
