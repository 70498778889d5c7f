"""From a scene to a compiled MjModel: attaching, editing, authored actuators, bindings."""
