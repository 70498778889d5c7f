"""An edit that makes a new world, and its undo, leave every setpoint asking for what it asked."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from imgui_bundle import imgui

from mjrig.editor.assets.drops import drop
from mjrig.editor.assets.hierarchy import delete, rename
from mjrig.editor.session.state import EditorState
from tests.editor.windows import Bench, press

#: An arm that sags: a geared servo, one counted in 0..255, and a plain motor.
ARM = """<mujoco><option gravity="0 0 -9.81"/><worldbody><body>
<joint name="a" axis="0 1 0" damping="2"/><geom type="capsule" fromto="0 0 0 .4 0 0" size=".03"/>
<body pos=".4 0 0"><joint name="b" axis="0 1 0" damping="1"/>
<geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
<body pos=".3 0 0"><joint name="c" axis="0 1 0" damping="1"/>
<geom type="capsule" fromto="0 0 0 .2 0 0" size=".02"/></body></body></body></worldbody><actuator>
<position name="a" joint="a" kp="20" gear="3"/>
<general name="b" joint="b" gainprm="0.5" biastype="affine" biasprm="-20 -40 0"/>
<motor name="c" joint="c"/></actuator></mujoco>"""
SCENE = "mjrig: 1\nsim: {timestep: 0.002}\nactors:\n  - {name: arm, model: arm.xml}\n"
SETPOINTS = {"a": 0.6, "b": 70.0, "c": 0.3}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    (tmp_path / "arm.xml").write_text(ARM)
    made = Bench.on(SCENE, tmp_path)
    made.state.simulation.world["arm"].set_targets(SETPOINTS)
    made.state.simulation.advance(300)
    return made


def _rows(state: EditorState, actor: str = "arm") -> dict[str, list[float]]:
    robot = state.simulation.world[actor]
    columns = robot.setpoints.values.T.tolist()
    return dict(zip(robot.actuator_names, columns, strict=True))


def _use_motors(state: EditorState) -> None:
    with state.session.edit("Use motors") as scene:
        scene["arm"].components = [{"type": "PDController", "kp": 30, "actuators": ["a", "c"]}]
        scene["arm"].use_motors = True


def _control_all(state: EditorState) -> None:
    drop(state, "component", "PDController", "arm")


EDITS: dict[str, Callable[[EditorState], object]] = {
    "motors": _use_motors,
    "a law on the motor": _control_all,
    "fixed timestep": lambda state: state.session.set("sim.timestep", 0.001),
    "deleted": lambda state: delete(state, "arm"),
    "renamed": lambda state: rename(state, "arm", "limb"),
    "without an actuator": lambda state: delete(state, "arm.actuator:c"),
}


@pytest.mark.parametrize("name", EDITS)
def test_undo_and_redo_of_any_edit_bring_the_setpoints_back(bench: Bench, name: str) -> None:
    state = bench.state
    before = _rows(state)
    for _ in range(3):  # nothing sinks with each of them
        EDITS[name](state)
        state.simulation.advance(100)
        after = [_rows(state, actor) for actor in state.simulation.world.articulations]
        state.session.undo()
        assert _rows(state).keys() == before.keys()
        for actuator, row in before.items():
            assert _rows(state)[actuator] == pytest.approx(row, abs=1e-12), actuator
        state.simulation.advance(100)
        state.session.redo()
        again = [_rows(state, actor) for actor in state.simulation.world.articulations]
        for one, other in zip(after, again, strict=True):
            for actuator, row in one.items():
                assert other[actuator] == pytest.approx(row, abs=1e-12), actuator
        state.session.undo()


def test_a_servo_made_a_motor_keeps_asking_for_the_same_angle(bench: Bench) -> None:
    """A geared servo's setpoint is no joint angle; one counted in 0..255 stays as it is."""
    wanted = bench.state.simulation.world["arm"].wanted_positions()
    assert wanted == pytest.approx({"a": 0.6 / 3, "b": (0.5 * 70 - 20) / 40})
    _use_motors(bench.state)
    rows = _rows(bench.state)
    assert (rows["a"][0], rows["b"][0]) == (pytest.approx(0.6 / 3), 70.0)


def test_a_deleted_actor_comes_back_where_it_was(bench: Bench) -> None:
    state = bench.state
    pose = state.simulation.world.data.qpos.copy()
    assert abs(pose).max() > 0.1
    delete(state, "arm")
    state.session.undo()
    np.testing.assert_array_equal(state.simulation.world.data.qpos, pose)


def test_what_was_commanded_after_the_edit_is_not_undone(bench: Bench) -> None:
    state = bench.state
    _use_motors(state)
    state.simulation.world["arm"].set_targets({"a": 0.5})
    state.session.undo()
    assert _rows(state)["a"][0] == pytest.approx(1.5)


def test_motors_used_and_undone_by_mouse_and_key_do_not_lower_the_arm(bench: Bench) -> None:
    state, seen = bench.state, list[float]()

    def settle() -> None:
        state.simulation.advance(3000)
        seen.append(float(state.simulation.world.data.qpos[0]))

    def tries(ctx: Any) -> None:
        settle()
        for _ in range(3):
            assert drop(state, "component", "PDController", "arm")
            state.session.set("arm.use_motors", True)
            ctx.yield_(2)
            state.simulation.advance(500)
            for _ in range(2):
                press(ctx, imgui.Key.mod_ctrl, imgui.Key.z)
            settle()

    bench.run(tries)
    assert not bench.problems
    assert seen[1:] == pytest.approx([seen[0]] * 3, abs=5e-3)
