"""Playing recordings and policies in a world: players, starting states, perturbed trials."""
