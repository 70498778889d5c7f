"""Damaged files of every kind that mjrig decodes."""
