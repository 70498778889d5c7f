"""Quick proofs of stability agree with the eigenvalues, and long ticks with single steps."""

import random
from unittest.mock import patch

import numpy as np
import pytest

from mjrig.lab.check import closed_loop
from mjrig.lab.check.closed_loop import (
    Carrier,
    LinearPlant,
    Loop,
    by_powers,
    growth,
    is_stable,
    transition,
)
from mjrig.lab.check.stability import highest_below
from tests.campaign import Tally


def _system(rng: random.Random, ticks: tuple[int, ...]) -> tuple[LinearPlant, list[Loop]]:
    """A random robot under one or two loops, from far too soft to far too stiff."""
    numbers = np.random.default_rng(rng.getrandbits(32))
    n = rng.randint(1, 6)
    root = numbers.normal(size=(n, n)) * 10 ** numbers.uniform(-1, 1, n)
    mass = root @ root.T + 0.1 * np.eye(n)
    damping = np.diag(numbers.uniform(0, 1, n)) * rng.choice((0.0, 1.0))
    integrator = rng.choice(("Euler", "implicit", "implicitfast", "RK4", "discrete"))
    step = 10 ** rng.uniform(-3, -1)
    plant = LinearPlant(mass, damping, np.zeros((n, n)), step, integrator, rng.random() < 0.5)
    loops = []
    for every in ticks:
        rows = np.eye(n)[: rng.randint(1, n)]
        size = len(rows)
        kp = 10 ** numbers.uniform(-2, 6, size)
        kv = kp * 10 ** numbers.uniform(-4, 0, size) * rng.choice((0.0, 1.0))
        ki = kp * rng.choice((0.0, 0.0, 0.5)) * np.ones(size)
        loops.append(Loop(rows, kp, kv, ki, every, rng.choice(tuple(Carrier))))
    return plant, loops


@pytest.mark.campaign
def test_quick_proofs_agree_with_the_eigenvalues(tally: Tally) -> None:
    for rng in tally.cases("stability without eigenvalues", 150, 60_000, minutes=2.0):
        plant, loops = _system(rng, rng.choice(((1,), (1, 1), (1, 4), (3,))))
        with np.errstate(all="ignore"):
            radius = growth(plant, loops)
        with patch.object(closed_loop, "LARGE", 0):
            quick = is_stable(plant, loops)
        if quick != (radius <= 1.0 + closed_loop.ROUNDING) and abs(radius - 1.0) > 1e-5:
            tally.found(f"{quick} at a radius of {radius!r}: {plant} {loops}")


@pytest.mark.campaign
def test_long_ticks_are_those_of_single_steps(tally: Tally) -> None:
    for rng in tally.cases("ticks by powers", 60, 5_000, minutes=1.0):
        ticks = rng.choice(((2,), (25,), (40, 40), (30, 3), (48, 16, 4), (60, 1), (7, 11)))
        plant, loops = _system(rng, ticks)
        if any(lp.carrier is Carrier.SOLVED for lp in loops):
            continue
        with np.errstate(all="ignore"), patch.object(closed_loop, "LONGEST_LOOP", 10**6):
            slow = transition(plant, loops)
        with np.errstate(all="ignore"), patch.object(closed_loop, "LONGEST_LOOP", 0):
            fast = transition(plant, loops)
        scale = np.abs(slow).max()
        if np.isfinite(scale) and scale < 1e6 and np.abs(slow - fast).max() > 1e-6 * scale:
            tally.found(f"{np.abs(slow - fast).max()} of {scale}: {plant} {loops}")


def test_a_tick_of_a_million_steps_is_no_work() -> None:
    plant = LinearPlant(np.eye(1), np.eye(1), np.zeros((1, 1)), 1e-3, "Euler")
    one = np.ones(1)
    held = Loop(np.eye(1), one * 1e-6, one * 0.0, one * 0.0, 10**6)
    assert is_stable(plant, [held])
    assert not is_stable(plant, [Loop(np.eye(1), one * 50, one, one * 0.0, 10**6)])


@pytest.mark.parametrize("bound", [0, 1, 3, 64, 65, 100, 700, 99_999])
@pytest.mark.parametrize("top", [2, 65, 300, 100_000])
def test_the_highest_that_holds(bound: int, top: int) -> None:
    tried = []

    def holds(number: int) -> bool:
        tried.append(number)
        return number <= bound

    assert highest_below(holds, top) == min(bound, top - 1)
    assert len(tried) < 100


def test_powers_do_not_decide_what_is_marginal() -> None:
    drifts = np.array([[1.0, 1e-3], [0.0, 1.0]])
    assert by_powers(drifts, 1.0 + 1e-6) is None
    assert by_powers(0.9 * np.eye(2), 1.0 + 1e-6) is True
    assert by_powers(1.1 * np.eye(2), 1.0 + 1e-6) is False
