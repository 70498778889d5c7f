"""The check panel."""
