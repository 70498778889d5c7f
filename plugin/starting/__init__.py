"""The first minutes: a scene for a model (`mjrig new`), and what is installed (`mjrig doctor`)."""
