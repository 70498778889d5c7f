"""Authored actuators: the base class, its property kinds, views of several at once."""
