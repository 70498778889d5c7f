"""Other processes: pools that share work, and single children that take jobs."""
