"""Defaults of `replay`."""

#: Perturbed runs of a policy besides the nominal one: each kind and direction once.
TRIALS = 7
#: Largest position error that still counts as a match [rad or m].
TOLERANCE = 1e-3
