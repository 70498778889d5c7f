"""Bridges in the window: served, watched."""
