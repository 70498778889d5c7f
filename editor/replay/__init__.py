"""Replays and policy commands in the window."""
