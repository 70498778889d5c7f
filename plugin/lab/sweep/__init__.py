"""Sweeps and searches: spaces, tasks, parallel backends, result tables."""
