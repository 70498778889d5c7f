"""Runs of several vendors' loops, re-simulated through mjrig's controllers to the bit."""

from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.components import PDController
from mjrig.data.recording.recording import ActorRecording, Recording
from mjrig.data.recording.tick_npz import read
from mjrig.lab.replay.diagnosis.order_hypotheses import mirrored, with_names, with_order
from tests.campaign import campaign_only
from tests.places import SHARED
from tests.wording import regex
from tests.worlds import pd_of

ROBOTS = SHARED / "robots"
needs_robots = pytest.mark.skipif(
    not ROBOTS.is_dir(), reason="no shared/robots beside the checkout"
)
#: Those whose models have position actuators of their own; the others get a PD controller.
NATIVE = ("pg_go1", "pg_leap")


def load(name: str) -> tuple[Recording, ActorRecording, dict[str, Any]]:
    run = read(ROBOTS / "recordings" / f"{name}.npz", {})
    assert run is not None
    return run, next(iter(run.actors.values())), run.attributes["meta"]


def make(name: str, model: str = "") -> mjrig.World:
    """A scene by hand, from the numbers in the recording."""
    run, actor, meta = load(name)
    scene = mjrig.Scene()
    scene.assign({"sim": {"timestep": run.timestep}})
    path = ROBOTS / "models" / model / "scene.xml" if model else ROBOTS / meta["xml"]
    robot = scene.add_actor("robot", model=path, keyframe="home" if name == "pg_leap" else "")
    if name not in NATIVE:
        plant = actor.plant.joints
        controller = PDController(kp=dict(plant["kp"]), kv=dict(plant["kv"]), torque_limit=np.inf)
        single = "float32" if name == "booster_t1" else "float64"
        controller.assign({"order": "textbook", "precision": single})
        robot.add_component(controller)
    return mjrig.World(scene)


@needs_robots
@pytest.mark.parametrize(
    ("name", "joint"), [("rlsar_go2_robotlab", "FL_calf_joint"), ("booster_t1", "Left_Hip_Yaw")]
)
def test_a_gain_that_is_a_fifth_higher_is_named_first(name: str, joint: str) -> None:
    world = make(name)
    controller = pd_of(world["robot"])
    at = [b.joint for b in controller.bindings].index(joint)
    gains = controller.kp.copy()
    gains[at] *= 1.2
    controller.kp = gains
    result = mjrig.replay(load(name)[0], world)
    assert (result.diagnosis[0].kind, result.diagnosis[0].where) == ("kp", joint)
    assert result.diagnosis[0].share == pytest.approx(1.0, abs=1e-3)


@needs_robots
@pytest.mark.parametrize("change", [with_order, with_names])
def test_swapped_sides_are_found_though_the_robot_stays_up(change: Any) -> None:
    run, actor, _ = load("rlsar_go2_robotlab")
    order = mirrored(actor.driven, "left and right")
    result = mjrig.replay(change(run, actor.name, order), make("rlsar_go2_robotlab"))
    assert not result.fell or (result.fell_at or 0.0) > 5.0
    assert result.diagnosis[0].kind == "joint order"
    assert "left and right swapped" in result.diagnosis[0].text


@needs_robots
def test_the_engines_order_of_operations_differs_by_rounding_only() -> None:
    world = make("urlgym_g1")
    pd_of(world["robot"]).assign({"order": "engine"})
    result = mjrig.replay(load("urlgym_g1")[0], world)
    assert not result.bit_exact
    assert result.diagnosis == []
    assert any(n.startswith("the difference comes from rounding") for n in result.notes)


@pytest.mark.campaign
@campaign_only
@needs_robots
def test_the_same_robot_of_another_vendor_is_matched_and_told_apart() -> None:
    result = mjrig.replay(
        load("rlsar_go2_robotlab")[0], make("rlsar_go2_robotlab", "go2_menagerie")
    )
    assert result.verdict == "differs"
    assert not result.fell


@needs_robots
def test_another_robot_is_refused() -> None:
    world = make("urlgym_g1")
    with pytest.raises(mjrig.RecordingError, match=regex("is another robot than 'robot' … 0 … 12")):
        mjrig.replay(load("rlsar_go2_robotlab")[0], world)
