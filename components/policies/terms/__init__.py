"""Observation terms, one class per kind of measurement."""
