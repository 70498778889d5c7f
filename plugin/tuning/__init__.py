"""Tuning: find gains by response, assignment, identification and search."""
