"""Panels of few modules each: plots, policy commands, check, bridges, console."""
