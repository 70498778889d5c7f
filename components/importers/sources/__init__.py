"""Sources of an import: vendor files, networks, and the robot model."""
