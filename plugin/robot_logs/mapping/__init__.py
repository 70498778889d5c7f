"""`log.yaml`: which field of a log is which quantity of which joint."""
