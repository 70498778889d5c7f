"""Controllers: what turns the setpoints of an actor into ctrl."""
