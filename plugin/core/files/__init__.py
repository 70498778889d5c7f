"""Files: paths that a scene may name, the sandbox, and what a model file refers to."""
