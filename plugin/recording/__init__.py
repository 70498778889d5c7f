"""Recordings: a time series of state, setpoints and efforts, and how it came about."""
