"""Executions of a pipeline: numpy, one compiled kernel, or MuJoCo actuators."""
