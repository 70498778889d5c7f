"""Gains: tables, presets, origins, and joint responses."""
