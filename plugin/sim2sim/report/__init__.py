"""Replay reports: on the terminal, as JSON and as one HTML page."""
