"""Actuators that a scene adds to a model: motors, servos, DC motors."""
