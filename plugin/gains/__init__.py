"""Gains: tables and presets of them, where they come from, and how joints respond."""
