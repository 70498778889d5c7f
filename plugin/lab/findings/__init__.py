"""Findings: the sentence of each kind, their order, and lines for the terminal."""
