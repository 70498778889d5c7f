"""The open scene and the world that runs it: edits, undo, time travel, signals, autosave."""
