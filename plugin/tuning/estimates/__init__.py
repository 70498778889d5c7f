"""What every fit speaks of: unknowns, estimates of them, and what data do not show."""
