"""Tests of the editor in a browser."""
