"""Every component, with every setting of the engine: rewinds, resets and live edits are exact."""

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import pytest

from mjrig.core.control.execution import PlantComponent
from mjrig.core.properties import registry
from tests.campaign import Tally
from tests.components.executions.rewind_cases import (
    OPTIONS,
    differences,
    draw_case,
    settings,
)
from tests.components.executions.rewind_subjects import OUTSIDE, subjects

pytest.importorskip("numba", reason="needs the extra 'fast'")
pytest.importorskip("onnxruntime", reason="networks need onnxruntime (extra `policy`)")


@pytest.mark.campaign
def test_rewinds_resets_and_live_edits_are_bit_equal(
    tally: Tally, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # for MuJoCo's own log
    components, values = list(subjects(tmp_path).values()), settings()
    some, every = 2 * len(components), len(components) * len(values)
    for number, rng in enumerate(tally.cases("components and settings, rewinds", some, every)):
        subject = components[number % len(components)]
        # Every component in turn, each time with another setting: all pairs come once.
        setting = values[(number // len(components) + number) % len(values)]
        case = draw_case(subject, setting, rng)
        unequal = list(differences(case, tmp_path))
        if case.is_refused:
            case = draw_case(subject, setting, Random(rng.random()), alone=True)
            unequal = list(differences(case, tmp_path))
        for difference in unequal:
            tally.found(f"{subject.name} with {setting}: {difference}; {case}")


@pytest.mark.parametrize("integrator", OPTIONS["integrator"])
def test_rewinds_of_bodies_that_sleep_are_bit_equal(
    integrator: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    subject = subjects(tmp_path)["PDController"]
    for seed in range(12):  # rewinds from before, at and after the moment when one wakes
        case = draw_case(subject, ("sleep", "enable"), Random(seed), alone=True)
        case.data["sim"]["integrator"] = integrator
        case = replace(case, seed=3 * seed, edit=None)
        assert list(differences(case, tmp_path)) == []
        assert not case.is_refused


def test_every_registered_component_is_covered(tmp_path: Path) -> None:
    """A component of a new family needs a scene, or a reason why it has no memory."""
    assert set(registry.names()) - set(subjects(tmp_path)) == set(OUTSIDE)


class Forgetful(PlantComponent):
    """Adds a torque that grows with every step, and does not declare that it counts them."""

    def prepare(self) -> None:
        self._count = 0

    def attach(self, articulation: Any) -> None:
        self._data = articulation.data

    def before_controls(self, time: float) -> None:
        self._count += 1
        self._data.qfrc_applied[-1] = 0.01 * self._count

    def reset(self) -> None:
        self._count = 0


class Counting(Forgetful):
    """The same, with the declaration."""

    _remembered: ClassVar[tuple[str, ...]] = ("_count",)


def test_a_new_component_is_covered_and_a_memory_that_is_not_declared_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    classes = {**registry._registered, "Forgetful": Forgetful, "Counting": Counting}
    monkeypatch.setattr(registry, "_registered", classes)
    scenes = subjects(tmp_path)
    unequal = {
        name: list(
            differences(
                draw_case(scenes[name], ("execution", "python"), Random(3), alone=True), tmp_path
            )
        )
        for name in ("Forgetful", "Counting")
    }
    assert unequal["Counting"] == []
    assert any("a rewind" in difference for difference in unequal["Forgetful"])
