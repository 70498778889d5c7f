"""Experiments: responses, gains, fits, sweeps, replays, benches, and their reports."""
