"""Where a search begins, of samples that are not evenly spaced."""

import numpy as np
import pytest

from mjrig.lab.fit.motion_fit import _at


@pytest.mark.parametrize("seed", range(8))
def test_states_between_samples_are_those_of_the_motion(seed: int) -> None:
    rng = np.random.default_rng(seed)
    powers, h = rng.normal(size=(4, 3)), 0.001

    def motion(steps: object, order: int) -> object:
        t = np.asarray(steps) * h
        curve = np.polynomial.Polynomial
        return np.stack([curve(powers[:, k]).deriv(order)(t) for k in range(3)], axis=1)

    kept = np.unique(np.concatenate([[0], rng.integers(1, 400, 60), [400]]))
    steps = np.arange(0, 401, 5)
    q, v = _at(steps, kept, motion(kept, 0), motion(kept, 1), h)  # type: ignore[arg-type]
    assert q == pytest.approx(motion(steps, 0), abs=1e-12)
    # Velocities are linear between samples: off by no more than their curvature allows.
    gap = float(np.diff(kept).max()) * h
    assert v == pytest.approx(motion(steps, 1), abs=gap**2 * np.abs(powers).max() * 6)


def test_evenly_spaced_samples_are_taken_as_they_are() -> None:
    steps = np.arange(0, 20, 2)
    q, v = np.random.default_rng(0).normal(size=(2, 10, 3))
    assert _at(steps, steps, q, v, 0.001)[0] is q
