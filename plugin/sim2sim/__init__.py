"""Sim2sim: replay a recording or a policy, compare, and say what differs."""
