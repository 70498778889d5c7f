"""Properties: declared once on a class; kinds, per-actuator values, actions, the type registry."""
