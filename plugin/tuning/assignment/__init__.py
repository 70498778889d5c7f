"""Gains from a wanted natural frequency and damping ratio."""
