"""Signals of a running world, sent to Foxglove or Rerun while it runs."""
