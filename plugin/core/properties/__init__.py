"""Properties: declared once on a class; their kinds, per-actuator values, actions, components.

A custom component needs: `from mjrig.properties import Float, PerActuator`."""
