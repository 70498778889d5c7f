"""Pages of joints and actuators in the inspector."""
