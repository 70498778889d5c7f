"""What a fit simulates: driven joints, recordings in columns of a world, jobs."""
