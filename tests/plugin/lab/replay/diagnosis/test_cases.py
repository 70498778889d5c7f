"""Cases: when an error is rounding, and what a run of a policy shows."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mjrig.lab.replay.diagnosis import replay_case
from mjrig.lab.replay.diagnosis.hypothesis import Aspect
from mjrig.lab.replay.diagnosis.loop_case import LoopCase
from mjrig.lab.replay.diagnosis.replay_case import ReplayCase


def grown(times: dict[float, float], *, exact: bool = False) -> ReplayCase:
    """A replay whose error reaches these values at these times [s], in steps of 10 ms."""
    time = np.arange(0.0, 2.0, 0.01)
    error = np.zeros(len(time))
    for begin, value in times.items():
        error[time >= begin - 1e-9] = value
    case = object.__new__(ReplayCase)
    largest = float(error.max())
    comparison = SimpleNamespace(
        time=time, error=error, max_abs_position_error=largest, bit_exact=exact
    )
    case.comparison = comparison  # type: ignore[assignment]
    return case


@pytest.mark.parametrize(
    ("times", "is_round_off"),
    [
        ({0.5: 0.8e-11}, True),  # never more than rounding
        ({0.5: 1.5e-11}, True),  # never grows
        ({0.5: 1.5e-11, 0.9: 1.5e-5}, True),  # grows slowly
        ({0.5: 1.5e-11, 0.7: 1.5e-5}, False),  # too fast
        ({0.5: 1.5e-11, 0.7: 0.8e-5, 0.9: 1.0}, True),  # below what counts as grown
        ({0.2: 0.8e-11, 0.5: 1e-5 * 1.5}, False),  # rounding, then a jump
        ({0.2: 0.8e-11, 0.5: 1.5e-11, 0.75: 1.5e-5}, False),
        ({0.0: 1.5e-11, 0.9: 1.5e-5}, False),  # at once
    ],
)
def test_rounding_begins_tiny_and_grows_slowly(
    times: dict[float, float], is_round_off: bool
) -> None:
    case = grown(times)
    assert case.is_round_off == is_round_off
    assert (case.missing(Aspect.SETPOINTS) is None) == is_round_off
    assert case.missing(Aspect.PLANT) == ""


@pytest.mark.parametrize(
    ("times", "exact", "judged"),
    [
        ({0.05: 1.5e-5}, False, True),
        ({0.02: 1.5e-5}, False, False),
        ({0.02: 0.8e-5}, False, True),
        ({}, True, False),
    ],
)
def test_another_precision_begins_tiny(
    times: dict[float, float], exact: bool, judged: bool
) -> None:
    assert (grown(times, exact=exact).missing(Aspect.CONTROLLER) == "") == judged


@pytest.mark.parametrize(
    ("error", "until"),
    [
        ({0.5: 1.5e-3}, 1.5),  # a second after it exceeds the tolerance
        ({0.5: 1.5e-3, 0.8: 0.7e-2}, 1.5),
        ({0.5: 1.5e-3, 0.8: 1.5e-2}, 1.8),  # a second after it is gross
        ({1.5: 1.5e-3}, 2.0),  # the end
        ({}, 2.0),
    ],
)
def test_the_error_is_measured_until_a_second_after_the_divergence(
    error: dict[float, float], until: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay_case, "match", lambda *_: [])
    monkeypatch.setattr(replay_case, "with_laws", lambda recording: recording)
    recording: Any = SimpleNamespace(actors={}, is_measured=False, duration=2.0)
    comparison: Any = grown(error).comparison
    comparison.rms_until = lambda time: time
    case = ReplayCase(recording, None, "", comparison, 1e-3)  # type: ignore[arg-type]
    assert case.before == pytest.approx(until)


def run(**more: Any) -> Any:
    """A trial of 10 s."""
    trial = {
        "fell": False, "duration": 10.0, "saturation": 0.2, "tracking_error": 0.3, "upright": 0.9,
        "base_end": None,
    }  # fmt: skip
    return SimpleNamespace(**(trial | more))


def effect(before: Any, after: Any) -> tuple[float, str]:
    track = SimpleNamespace(timestep=0.01, taken=1000)
    nominal: Any = SimpleNamespace(trial=before, track=track)
    case = LoopCase(None, None, None, nominal, lambda: nominal)  # type: ignore[arg-type]
    share, form, _ = case._effect(after)
    return share, form


@pytest.mark.parametrize(
    ("before", "after", "share", "form"),
    [
        ({"fell": True, "duration": 2.0}, {}, 1.0, "undone, stays up"),
        ({"fell": True, "duration": 2.0}, {"fell": True, "duration": 4.0}, 0.25,
         "undone, falls later"),
        ({"fell": True, "duration": 2.0}, {"fell": True, "duration": 2.15}, 0.15 / 8.0,
         "undone, falls later"),
        ({"fell": True, "duration": 2.0}, {"fell": True, "duration": 2.07}, 0.0,
         "undone, still falls"),
        ({}, {"fell": True}, 0.0, "undone, falls"),
        ({}, {"saturation": 0.17}, 0.03, "undone, changes"),
        ({}, {"saturation": 0.185}, 0.0, "undone, little changes"),
        ({}, {"upright": 0.97}, 0.07, "undone, changes"),
        ({}, {"tracking_error": 0.1}, 0.2, "undone, changes"),
        ({}, {"tracking_error": 0.5}, 0.0, "undone, changes"),
    ],
)  # fmt: skip
def test_the_effect_of_a_difference_on_a_run(
    before: dict[str, Any], after: dict[str, Any], share: float, form: str
) -> None:
    assert effect(run(**before), run(**after)) == (pytest.approx(share), form)
