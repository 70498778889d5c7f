"""Comparing a replay with its recording: robots matched, errors per joint, the result."""
