"""Motions that show parameters: designed, checked in simulation, written for a robot."""
