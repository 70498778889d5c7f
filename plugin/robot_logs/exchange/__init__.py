"""Recordings written for other programs, and read back without loss: MCAP, HDF5."""
