"""Objectives of sweeps: metrics of test signals, free runs and replays."""
