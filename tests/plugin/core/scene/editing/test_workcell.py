"""The bundled work cell, used as a person would: load, run, edit, save, look at the difference."""

import difflib
import shutil
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import mjrig
from mjrig.components import MotorActuator, PDController, PIDController
from mjrig.lab.check.preflight import findings

PARTS = ("scenes/workcell.yaml", "parts/lab.yaml")


@pytest.fixture
def cell(tmp_path: Path) -> Path:
    """A copy of the scene, to be written over."""
    for part in PARTS:
        target = tmp_path / part
        target.parent.mkdir()
        shutil.copy(str(files("mjrig.config").joinpath(*part.split("/"))), target)
    return tmp_path / PARTS[0]


def changed_lines(before: str, after: str) -> list[str]:
    """The lines of a unified diff without context, its heads left out."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


def test_it_has_two_robots_under_different_laws_a_gripper_and_props(cell: Path) -> None:
    world = mjrig.World(mjrig.Scene.load(cell))
    assert isinstance(world["arm"].controllers[0], PIDController)
    assert isinstance(world["dog"].controllers[0], PDController)
    palm, hand = world.model.body("gripper/palm"), world.model.body("arm/hand")
    assert palm.parentid[0] == hand.id
    assert "finger_left" not in world["arm"].joint_names
    assert len([p for p in world.placements.actors if p.item.prop is not None]) >= 3
    assert [f for f in findings(world) if f.kind != "one-for-all"] == []


@pytest.mark.parametrize("execution", ["native", "python"])
def test_everything_stands_still_for_five_seconds(cell: Path, execution: str) -> None:
    world = mjrig.World(mjrig.Scene.load(cell), execution=execution)
    bodies = ["crate/body", "can/body", "ball/body", "arm/cube", "gripper/palm", "dog/trunk"]
    world.step(500)  # the dog settles on its springs first
    start = np.array([world.data.body(name).xpos for name in bodies])
    world.step(4500)
    end = np.array([world.data.body(name).xpos for name in bodies])
    assert np.abs(end - start).max() < 0.01
    assert np.abs(world.data.qvel).max() < 0.05
    assert not world.events
    left, right = (world.data.joint(f"gripper/finger_{side}").qpos[0] for side in ("left", "right"))
    assert left + right == pytest.approx(0.08, abs=1e-3)


def test_the_gripper_closes_while_the_arm_holds(cell: Path) -> None:
    world = mjrig.World(mjrig.Scene.load(cell))
    tip = world.data.site("gripper/grasp")
    world.step(1000)
    before = tip.xpos.copy()
    world["gripper"].set_targets({"opening": 0.0})
    world.step(1000)
    assert world.data.joint("gripper/finger_left").qpos[0] < 0.002
    assert np.abs(tip.xpos - before).max() < 0.003


def test_saved_untouched_it_is_the_same_to_the_byte(cell: Path) -> None:
    before = cell.read_bytes()
    scene = mjrig.Scene.load(cell)
    mjrig.World(scene).step(10)
    scene.save()
    assert cell.read_bytes() == before
    scene.save(cell.with_name("copy.yaml"))
    assert cell.with_name("copy.yaml").read_bytes() == before


def test_edits_change_their_lines_and_no_other(cell: Path) -> None:
    before = cell.read_text("utf-8")
    scene = mjrig.Scene.load(cell)
    scene.set("dog.PDController.kv", 6)
    scene.set("crate.pose.position", [0.0, 0.1, 0.06])
    scene.set("view.prop.fovy", 32)  # of the included file
    scene.rename("arm", "reach")
    scene["gripper"].add_actuator(MotorActuator(name="push", joint="finger_left", gear=2))
    world = mjrig.World(scene)
    world.step(100)
    scene["gripper"].add_keyframe(world["gripper"].capture("held"))
    scene.save()
    after = cell.read_text("utf-8")
    at = after.index("      - name: held")
    held = after[at : after.index("\n\n", at)].splitlines()
    assert len(held) < 12
    old_crate = "[-0.12, 0.08, 0.06], euler_deg: [0, 0, 25]}"
    new_crate = "[0.0, 0.1, 0.06], euler_deg: [0, 0, 25]}"
    assert changed_lines(before, after) == [
        "+      view.prop.fovy: 32",
        "-  - name: arm                                     # brings a table, and a cube on it",
        "+  - name: reach                                     # brings a table, and a cube on it",
        "-    attach: {to: arm/flange}",
        "+    attach: {to: reach/flange}",
        "+    actuators:",
        "+      - type: MotorActuator",
        "+        name: push",
        "+        joint: finger_left",
        "+        gear: 2",
        "+    keyframes:",
        *(f"+{line}" for line in held),
        "-        kv: 5",
        "+        kv: 6",
        f"-    pose: {{relative_to: bench, position: {old_crate}",
        f"+    pose: {{relative_to: bench, position: {new_crate}",
    ]
    assert cell.with_name("workcell.yaml~").read_text("utf-8") == before
    assert (cell.parents[1] / PARTS[1]).read_bytes() == (
        files("mjrig.config").joinpath("parts").joinpath("lab.yaml").read_bytes()
    )


def test_what_was_saved_runs_as_what_was_edited(cell: Path) -> None:
    scene = mjrig.Scene.load(cell)
    scene.set("arm.PIDController.kp", {"default": 80, "shoulder_.*": 320, "elbow": 310})
    scene.rename("dog.actuator:FL_hip", "front_left")
    scene.remove("ball")
    scene.save()
    worlds = [mjrig.World(s) for s in (scene, mjrig.Scene.load(cell))]
    for world in worlds:
        world.step(200)
    np.testing.assert_array_equal(worlds[0].data.qpos, worlds[1].data.qpos)
    assert "front_left" in worlds[1]["dog"].actuator_names
