"""Props: solids, ground, lights, cameras and height fields without a model file."""
