"""Diagnosis of a replay: what differs between a recording, a policy and a world, and the repair."""
