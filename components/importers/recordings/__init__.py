"""Readers for recordings of other systems."""
