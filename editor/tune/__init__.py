"""The Tune panel: respond, assign, fit and sweep in a separate process."""
