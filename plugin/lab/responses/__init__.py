"""Step, sine and chirp responses of joints, in time and frequency."""
