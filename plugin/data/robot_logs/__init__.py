"""Logs of real robots: read, mapped to joints, brought onto one clock, and made recordings."""
