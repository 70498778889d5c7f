"""Fits by recorded efforts: laws are linear in their gains, so nothing is simulated."""
