"""Comparing a replay with its recording: matching robots, errors per joint, the result."""
