"""How a pipeline runs: as prepared numpy calls, as one compiled kernel, or as MuJoCo actuators."""
