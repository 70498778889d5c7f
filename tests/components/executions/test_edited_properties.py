"""Every property of every component: a live edit acts as if authored, or is refused."""

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.components import PDController
from mjrig.core.errors import BindingError, NeedsNewWorld
from mjrig.core.properties.scalar_kinds import Text
from tests.campaign import CAMPAIGN
from tests.components.executions.rewind_cases import (
    build,
    differences,
    draw_case,
    editable,
    values_of,
)
from tests.components.executions.rewind_subjects import Subject, subjects
from tests.worlds import arm, make_world, refused

pytest.importorskip("numba", reason="needs the extra 'fast'")
pytest.importorskip("onnxruntime", reason="networks need onnxruntime (extra `policy`)")

#: Steps in one stage and in two, and laws that MuJoCo integrates in a way of its own.
SIMS: dict[str, tuple[tuple[str, Any], dict[str, Any]]] = {
    "auto": (("execution", "auto"), {}),
    "implicit effort": (("effort", "implicit"), {}),
    "implicit actuation": (("actuation", "implicit"), {"integrator": "implicitfast"}),
}


def distinct(folder: Path) -> list[Subject]:
    """One scene of each type of component that can be edited in a running world."""
    return list({s.edits or s.name: s for s in subjects(folder).values() if s.place}.values())


@pytest.mark.campaign
@pytest.mark.parametrize("sim", SIMS)
def test_every_property_acts_as_if_authored_or_is_refused(
    sim: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # for MuJoCo's own log
    setting, options = SIMS[sim]
    problems, compared = [], 0
    # In `make test` each mode takes every third property, another third in each.
    first, stride = (0, 1) if CAMPAIGN else (list(SIMS).index(sim), len(SIMS))
    for subject in distinct(tmp_path):
        for number, prop in list(enumerate(editable(subject)))[first::stride]:
            rng = Random(number)
            case = draw_case(subject, setting, rng, alone=True)
            case.data["sim"].update(options)
            case = replace(case, edit=(subject.place, prop.name, values_of(prop, rng)))
            problems += [f"{case}: {text}" for text in differences(case, tmp_path)]
            compared += not case.notes
    assert problems == []
    assert compared > 50 // stride


def test_a_delay_that_only_a_new_world_can_run_alike_is_refused() -> None:
    sim = {"integrator": "implicitfast", "actuation": "implicit"}
    pd = PDController(kp=60, kv=2, delay={"steps": 3})
    world, other = (make_world(arm(), [pd.copy()], sim=sim, execution="auto") for _ in range(2))
    assert world.execution == "native"
    (controller,) = world["robot"].controllers
    text = (
        "robot.PDController: it has no room for a delay of 8 steps, and MuJoCo integrates its "
        "gains implicitly (sim.actuation: implicit), which no other execution does; edit the "
        "scene and build a new World"
    )
    assert isinstance(controller, PDController)
    assert controller.delay is not None
    with refused(NeedsNewWorld, text):
        controller.delay.assign({"steps": 8})
    for each in (world, other):
        each["robot"].set_targets([0.4, -0.3])
        each.step(50)
    assert world.execution == "native"
    assert np.array_equal(world.data.qpos, other.data.qpos)
    controller.assign({"decimation": 2})  # which a new world would not run in MuJoCo, either
    assert world.execution == "compiled"


class Named(mjrig.ActorComponent):
    """Resolves a name when it is attached, and does not do so again."""

    site = Text("", structural=True, doc="A site.")


def test_a_structural_property_of_another_package_is_refused() -> None:
    world = make_world(arm(), [Named(site="hand")])
    (part,) = world["robot"].components
    text = (
        "robot.Named.site: cannot be changed in a running world; edit the scene and build a new "
        "World"
    )
    with refused(NeedsNewWorld, text):
        part.assign({"site": "foot"})
    assert vars(part)["site"] == "hand"
    assert isinstance(NeedsNewWorld(text), BindingError)
    world["robot"].remove_component(part)
    part.assign({"site": "foot"})


def test_the_motors_of_a_bridge_are_not_changed_in_a_running_world(tmp_path: Path) -> None:
    data = subjects(tmp_path)["UnitreeBridge"].scene({})
    world = build(data, tmp_path, "auto")
    with pytest.raises(NeedsNewWorld, match=r"UnitreeBridge\.kind: cannot be changed"):
        world["robot"].part("UnitreeBridge").assign({"kind": "b2"})


@pytest.mark.parametrize(
    ("authored", "edit"),
    [
        ({"decimation": 3}, {"decimation": 1}),
        ({"effort": "implicit"}, {"effort": "explicit"}),
        ({"delay": {"random": [1, 3]}}, {"delay": {"steps": 2}}),
    ],
)
def test_a_law_that_a_new_world_would_run_in_mujoco_alone_is_refused(
    authored: dict[str, Any], edit: dict[str, Any]
) -> None:
    sim = {"integrator": "implicitfast", "actuation": "implicit"}
    pd = PDController(kp=60, kv=2, **authored)
    world, other = (make_world(arm(), [pd.copy()], sim=sim, execution="auto") for _ in range(2))
    (controller,) = world["robot"].controllers
    with pytest.raises(NeedsNewWorld, match="it was not built to run in MuJoCo, and MuJoCo integ"):
        controller.assign(edit)
    for each in (world, other):
        each["robot"].set_targets([0.4, -0.3])
        each.step(50)
    assert np.array_equal(world.data.qpos, other.data.qpos)
    controller.assign({"kp": 50})
