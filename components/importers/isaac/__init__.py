"""Runs of Isaac Lab and mjlab: env.yaml, agent.yaml and IO descriptors, as policy and plant."""
