"""What `replay` does unless somebody says otherwise."""

#: Perturbed runs of a policy besides the nominal one: each way to make it harder once.
TRIALS = 5
#: How far a position may be off and still match [rad or m].
TOLERANCE = 1e-3
