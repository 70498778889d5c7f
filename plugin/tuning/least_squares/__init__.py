"""The least-squares problem of a fit: unknowns, derivatives, its solution and its spread."""
