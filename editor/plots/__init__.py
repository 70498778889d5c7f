"""Plots of signals over time."""
