"""Worlds: a compiled scene stepped through time, many of them, and export to plain MuJoCo."""
