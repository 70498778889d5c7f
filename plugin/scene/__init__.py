"""The scene description: what a scene file can say, without any MuJoCo model behind it."""
