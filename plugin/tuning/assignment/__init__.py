"""Gain assignment from natural frequency and damping ratio."""
