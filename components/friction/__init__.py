"""Friction of servos and gears that depends on load and speed."""
