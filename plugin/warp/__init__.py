"""MuJoCo Warp: many worlds of a lowered scene on a GPU, in single precision."""
