"""What a sweep minimises: metrics of signals, free runs and replays."""
