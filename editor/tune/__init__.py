"""The Tune panel: respond, assign, fit and sweep in a process of its own."""
