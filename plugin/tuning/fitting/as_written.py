"""What a fit is worth as it would be written: without values that are not identified."""

from collections.abc import Callable, Sequence

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.names import listed
from mjrig.tuning.estimates.estimate import Estimate
from mjrig.tuning.fitting.findings import label_of
from mjrig.tuning.least_squares.fit_problem import Problem
from mjrig.tuning.least_squares.solver import Solution, solve

#: Errors are clearly larger beyond so many times.
WORSE = 1.5
#: Steps that initial states may take.
STARTS = 8


def as_written(
    problem: Problem,
    solution: Solution,
    found: Sequence[Estimate],
    rms_of: Callable[[Sequence[FloatArray]], dict[str, float]],
) -> tuple[str, ...]:
    """A note if the scene with what is identified alone is clearly worse than the fit.

    Args:
        rms_of: residuals → joint → root mean square of its position's [rad or m].
    """
    values = problem.stage.drives.values
    left = {(e.joint, e.parameter) for e in found if not e.identifiable}
    out = [u for u in problem.unknowns if u.is_of_joint and label_of(problem, u) in left]
    out = [u for u in out if u.parameter in values and np.isfinite(values[u.parameter][u.place])]
    if not out:
        return ()
    old = np.array([values[u.parameter][u.place] for u in out])
    point, weights = solution.point.put(out, old), solution.system.weights
    again = solve(problem.with_unknowns([]), point, weights, most=STARTS)
    fitted, written = rms_of(solution.residuals), rms_of(again.residuals)
    worse = [joint for joint in fitted if written[joint] > WORSE * fitted[joint]]
    if not worse:
        return ()
    said = listed(f"{joint} {written[joint]:.2g} instead of {fitted[joint]:.2g}" for joint in worse)
    return (
        "values with `?` are part of the fit and are not written: without them rms errors are "
        f"larger ({said}); fit fewer at once, or put them into the scene by hand",
    )
