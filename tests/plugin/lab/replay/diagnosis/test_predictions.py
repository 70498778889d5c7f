"""Short predictions: how many, how long, and the search for a parameter's best value."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mjrig.lab.replay.diagnosis import predictions
from mjrig.lab.replay.diagnosis.predictions import Segments
from tests.plugin.lab.replay.recorded import biped, from_world


def lengths(
    monkeypatch: pytest.MonkeyPatch, timestep: float, every: int, *, few: bool = False
) -> list[int]:
    """Steps of each prediction, from 1000 states that were recorded every so many steps."""
    monkeypatch.setattr(predictions, "playable_steps", lambda recording: 900 * every)
    segments = object.__new__(Segments)
    recorded = SimpleNamespace(step=every * np.arange(1000), qvel=np.zeros((1000, 1)))
    segments._pair = SimpleNamespace(recorded=recorded)  # type: ignore[assignment]
    segments._recording = SimpleNamespace(timestep=timestep)  # type: ignore[assignment]
    segments._few = few
    rows = segments._choose()
    return list(every * (rows[:, 1] - rows[:, 0]))


@pytest.mark.parametrize(
    ("timestep", "every", "count", "steps"),
    [
        (0.002, 1, 50, 12),  # 600 steps altogether, 12 each
        (0.01, 1, 60, 6),  # 60 ms are 6 steps; not more than 60 predictions
        (0.005, 4, 60, 4),
        (0.001, 30, 24, 30),  # not fewer than 24
        (0.001, 45, 24, 45),
    ],
)
def test_predictions_share_600_steps(
    timestep: float, every: int, count: int, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert lengths(monkeypatch, timestep, every) == [steps] * count
    assert len(lengths(monkeypatch, timestep, every, few=True)) == 2 * count


def test_states_more_than_60_ms_apart_are_not_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not lengths(monkeypatch, 0.001, 65)


@pytest.mark.parametrize(("iterations", "few"), [(7, True), (13, False)])
def test_a_solver_with_fewer_than_ten_iterations_begins_earlier(iterations: int, few: bool) -> None:
    """So that the state of its solver is the recorded one."""
    world = biped()
    run = from_world(world, 61, drive=lambda step, world: None)
    world.model.opt.iterations = iterations
    assert Segments(run, world, "")._few is few


class Curve(Segments):
    """Predictions that miss by a function of one parameter."""

    def __init__(self, missed: Any) -> None:
        self._missed, self._x = missed, 0.0

    def miss(self, *_: Any, **__: Any) -> Any:
        return np.array([[self._missed(self._x)]])

    def best(self, step: float, **options: Any) -> predictions.ParameterFit:
        def change(x: float) -> None:
            self._x = x

        return self.fit(change, lambda: change(0.0), step, self.miss(), **options)


def test_a_fit_makes_four_steps_of_newtons_method() -> None:
    """Each halves the distance to a double root."""
    fit = Curve(lambda x: (x - 1.0) ** 2).best(1e-6)
    assert 1.0 - fit.change == pytest.approx(0.5**4, rel=0.01)
    assert fit.share == pytest.approx(1.0 - 0.5**8, rel=0.01)


def test_a_fit_begins_at_the_best_of_its_scan() -> None:
    """There is another minimum in between."""
    curve = Curve(lambda x: min(0.5 + abs(x - 0.1), abs(x - 2.0)))
    assert curve.best(1e-3).share < 0.5
    assert curve.best(1e-3, scan=(-2.0, 2.1)).share > 0.99
