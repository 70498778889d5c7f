"""Bundled scenes, scene parts, gain presets and editor defaults (data only)."""
