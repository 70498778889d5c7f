"""Recordings, logs of robots, streams and environments."""
