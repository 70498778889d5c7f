"""Identification: gains, delays and joint parameters from recordings."""
