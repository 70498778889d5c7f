"""Replays of recordings and policies: comparison with the recording, and diagnosis."""
