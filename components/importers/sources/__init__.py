"""What an import reads: vendor files, networks, the robot they are matched with."""
