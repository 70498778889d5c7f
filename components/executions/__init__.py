"""How a pipeline runs besides numpy: one compiled kernel, or MuJoCo actuators."""
