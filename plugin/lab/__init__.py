"""Experiments: responses, gains, fits, sweeps, replays, benches, and their reports."""

from mjrig.lab.findings import rendering as rendering  # findings have their sentences with it
