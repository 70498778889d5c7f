"""Bridges: a running scene stands in for the robot, for programs in other processes."""
