"""Recordings: time series of states, setpoints and efforts, with their provenance."""
