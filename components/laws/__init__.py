"""Control laws and what surrounds them: PD, PID, networks, delay, clamps, the pipeline."""
