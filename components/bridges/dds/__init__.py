"""What DDS bridges write and read, and the process that does it; knows no world."""
