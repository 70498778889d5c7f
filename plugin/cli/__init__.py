"""The command line: the program, headless runs, pictures, plots, the JSON Schema."""
