"""Executions of a pipeline: prepared numpy calls, one compiled kernel, or MuJoCo actuators."""
