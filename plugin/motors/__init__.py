"""Motors: servos and drives as files, found by name."""
