"""Shared by all commands: help pages, tables, progress bars, scene options."""
