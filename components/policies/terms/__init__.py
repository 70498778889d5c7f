"""Observation terms: what a policy sees, one class per kind of measurement."""
