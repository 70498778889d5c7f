"""Scenes, models, control and simulation: what every other layer builds on."""
