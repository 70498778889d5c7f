"""Where models come from: MJCF, URDF, MJB and menagerie files, and the assets they need."""
