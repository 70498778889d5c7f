"""Parameters of the body that are fitted to short predictions."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.lab.replay.diagnosis.body_hypotheses import GROSS, BodyFits
from mjrig.lab.replay.diagnosis.predictions import ParameterFit
from tests.places import SCENES


@dataclass
class OneSided:
    """Short predictions that only less of a parameter improves, as where a foot leaves the ground.

    `promise` is what a step downwards would remove, `share` what the best fit removes.
    """

    pair: Any
    size: float
    promise_below: float
    share: float
    steps: list[float] = field(default_factory=list)

    def miss(self) -> Any:
        return np.full((4, 3), self.size)

    def promise(self, apply: Any, undo: Any, step: float, before: Any) -> float:
        self.steps.append(step)
        return self.promise_below if step < 0.0 else 0.0

    def fit(self, *_: Any, **__: Any) -> ParameterFit:
        return ParameterFit(-0.5, self.size, self.size * (1.0 - self.share))

    def efforts(self, miss: Any) -> Any:
        return np.zeros(1000)


def names(promise_below: float, share: float, size: float = 0.1) -> set[str]:
    """What is named, with a recording that lists nothing."""
    world = mjrig.World(SCENES / "quadruped_trot.yaml")
    robot = next(iter(world.articulations.values()))

    plant = SimpleNamespace(joints={}, overall={})
    recorded = SimpleNamespace(plant=plant)
    pair = SimpleNamespace(robot=robot, base=object(), joints=(), recorded=recorded)
    segments: Any = OneSided(pair, size, promise_below, share)
    return {finding.kind for finding, _ in BodyFits(segments, world).run()}


@pytest.mark.parametrize(("promise", "fitted"), [(0.5, True), (0.0, False)])
def test_a_parameter_is_fitted_if_either_side_of_it_promises_something(
    promise: float, fitted: bool
) -> None:
    assert ("gravity" in names(promise, 0.9)) == fitted


@pytest.mark.parametrize(("share", "found"), [(0.9, False), (0.999, True)])
def test_gross_misses_are_explained_by_one_parameter_or_by_none(share: float, found: bool) -> None:
    assert bool(names(0.5, share, 2.0 * GROSS)) == found
