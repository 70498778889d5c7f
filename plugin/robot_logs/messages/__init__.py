"""Messages of ROS 1, ROS 2 and Unitree: definitions as text, numbers by layout, never by code."""
