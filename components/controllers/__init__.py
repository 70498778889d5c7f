"""Controllers: components that turn the setpoints of an actor into ctrl."""
