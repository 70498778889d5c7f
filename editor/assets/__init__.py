"""Hierarchy and asset browser: what can be dropped into a scene, and what a drop does."""
