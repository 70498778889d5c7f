"""What is read from a running robot: sampled states and efforts, sensors, events, actuators."""
