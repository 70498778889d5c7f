"""Fits of a recorded term to the one recomputed: what counts as a change, and which is named."""

import numpy as np
import pytest

from mjrig.core.arrays import FloatArray
from mjrig.lab.replay.diagnosis.term_fits import (
    TermFit,
    best_fit,
    error,
)

RNG = np.random.default_rng(4)
#: Values of four channels of one size at 80 ticks, and others that nothing relates to them.
HERE: FloatArray = RNG.standard_normal((80, 4))
OTHER: FloatArray = RNG.standard_normal((80, 4))


def fitted(recorded: FloatArray, here: FloatArray = HERE) -> TermFit:
    fit = best_fit(recorded, here)
    assert fit is not None
    return fit


def mixed(share: float) -> FloatArray:
    """Twice the values, and others with a share of their size."""
    return 2.0 * (HERE + share * OTHER)


@pytest.mark.parametrize("factor", [0.8, 1.3])
def test_terms_differ_from_two_parts_in_a_thousand_on(factor: float) -> None:
    fit = best_fit(HERE * (1.0 + factor * 2e-3), HERE)
    assert (fit is None) == (factor < 1.0)


@pytest.mark.parametrize(
    ("kind", "recorded"),
    [
        ("scale", 1.5 * HERE),
        ("scale", HERE * [1.0, 2.0, 1.0, 1.0]),
        ("sign", HERE * [1.0, -1.0, 1.0, 1.0]),
        ("offset", HERE + np.array([0.0, 0.3, 0.0, 0.0])),
        ("order", HERE[:, [0, 2, 1, 3]]),
        ("clip", np.clip(HERE, -0.7, 0.7)),
        ("unknown", OTHER),
    ],
)
def test_each_change_is_named(kind: str, recorded: FloatArray) -> None:
    assert fitted(recorded).kind == kind


@pytest.mark.parametrize("lag", range(1, 7))
@pytest.mark.parametrize("late", [True, False])
def test_latencies_are_sought_up_to_three_ticks(lag: int, late: bool) -> None:
    recorded = np.roll(HERE, lag if late else -lag, axis=0)
    recorded[:lag] = recorded[lag] if late else recorded[:lag]
    fit = fitted(recorded)
    assert (fit.kind == "latency") == (lag <= 3)
    if lag <= 3:
        assert fit.values[0] == (lag if late else -lag)


@pytest.mark.parametrize(("left", "kind"), [(0.8, "sign"), (1.3, "scale")])
def test_the_simplest_fit_that_is_exact_is_taken(left: float, kind: str) -> None:
    """Signs leave a rest of the first factor; a factor for each value leaves none."""
    factors = np.array([1.0 + 2.0 * left * 1e-2, -1.0, 1.0, 1.0])
    assert fitted(HERE * factors).kind == kind


@pytest.mark.parametrize(("off", "kind"), [(0.75, "scale"), (1.4, "unknown")])
def test_a_factor_leaves_little_of_a_value(off: float, kind: str) -> None:
    """A factor is none for values of which it leaves more than a twentieth."""
    assert fitted(mixed(off * 0.05)).kind == kind


@pytest.mark.parametrize(("rest", "kind"), [(0.85, "offset"), (1.15, "unknown")])
def test_a_fit_halves_the_error_at_least(rest: float, kind: str) -> None:
    """A mean and noise: the offset removes the mean, the noise is left."""
    noise = OTHER - OTHER.mean(axis=0)
    noise /= np.sqrt(np.mean(noise**2))
    mean = np.sqrt(1.0 / (rest * 0.5) ** 2 - 1.0)
    fit = fitted(HERE + 0.2 * (noise + mean))
    assert fit.kind == kind


@pytest.mark.parametrize(("size", "shows"), [(1.6, True), (0.6, False)])
def test_a_value_that_hardly_moves_does_not_show_its_factor(size: float, shows: bool) -> None:
    here = HERE.copy()
    here[:, 3] *= size * 1e-3 / np.sqrt(np.mean(here[:, 3] ** 2))
    fit = fitted(here * [1.5, 2.0, 1.5, 1.5], here)
    assert fit.kind == "scale"
    assert bool(np.isnan(fit.values[3])) != shows


def test_the_error_is_a_share_of_the_larger_one() -> None:
    assert error(2.0 * HERE, HERE) == pytest.approx(0.5)
    assert error(HERE, 2.0 * HERE) == pytest.approx(0.5)
    assert error(HERE[:0], HERE[:0]) == 0.0
