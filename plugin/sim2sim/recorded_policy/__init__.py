"""A policy against a recording of it, part by part, without simulating."""
