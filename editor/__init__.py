"""The window: viewport, inspector, panels, undo."""
