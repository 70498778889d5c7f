"""Benches: many policies on the same seeded tasks, compared with intervals."""
