"""Recordings of other systems."""
