"""Robots with actuators that have gains of their own, tuned in the whole window."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from imgui_bundle import imgui

import mjrig
from mjrig.core.control.controller import ArticulationController
from mjrig.editor.assets.drops import drop
from tests.editor.windows import Bench, press
from tests.plugin.lab.gains.test_native_rows import ROBOT, SCENE

KEY = "robot.native_gains.left_{}"
TABLE = "//Gains/gains 5"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    (tmp_path / "two.xml").write_text(ROBOT)
    made = Bench.on_file(tmp_path / "scene.yaml", "mjrig: 1\n" + SCENE)
    made.state.selection.only("robot")
    return made


def cell(joint: str, gain: str) -> str:
    return f"{TABLE}/{KEY.format(joint)}/##{gain}"


def test_a_native_gain_is_typed_undone_saved_and_read_again(bench: Bench, tmp_path: Path) -> None:
    state, seen = bench.state, list[Any]()

    def now() -> None:
        model = state.simulation.world.model
        seen.append((model.actuator("robot/left_shoulder").gainprm[0], state.simulation.generation))

    def types(ctx: Any) -> None:
        ctx.item_click("//Gains/mirror")
        ctx.item_input_value(cell("shoulder", "kp"), 250.0)
        now()
        ctx.item_input_value(cell("shoulder", "torque_limit"), 50.0)
        press(ctx, imgui.Key.mod_ctrl, imgui.Key.z)
        press(ctx, imgui.Key.mod_ctrl, imgui.Key.z)
        now()
        press(ctx, imgui.Key.mod_ctrl, imgui.Key.y)
        ctx.item_input_value(cell("grip", "torque_limit"), 30.0)  # none before
        press(ctx, imgui.Key.mod_ctrl, imgui.Key.s)
        ctx.yield_(2)

    bench.run(types)
    # The same world all along: nothing was built again.
    assert seen == [(250.0, 0), (200.0, 0)] and not bench.problems
    assert 'native_gains:\n      kp: {left_shoulder: 250, right_shoulder: 250}\n' in (
        tmp_path / "scene.yaml"
    ).read_text()  # fmt: skip
    again = mjrig.World(tmp_path / "scene.yaml").model
    assert again.actuator("robot/right_grip").forcerange.tolist() == [-30.0, 30.0]
    assert np.array_equal(again.actuator_gainprm, state.simulation.world.model.actuator_gainprm)
    assert np.array_equal(again.actuator_biasprm, state.simulation.world.model.actuator_biasprm)


def test_the_table_shows_the_limit_that_acts(bench: Bench) -> None:
    gains = bench.window.gains
    bench.run(lambda ctx: ctx.yield_(3))
    shown = {
        r.actuator: (r.limit, gains.tuning.origin(r, "torque_limit")) for r in gains.tuning.rows
    }
    assert shown["left_shoulder"] == (60.0, "model forcerange")
    assert shown["left_elbow"] == (9.0, "model actuatorfrcrange")


def test_a_native_servo_is_tested_on_a_copy(bench: Bench) -> None:
    tuning = bench.window.gains.tuning
    tuning.lab._debounce = 0.01
    row = "left_shoulder"

    def runs(ctx: Any) -> None:
        ctx.item_click(f"{TABLE}/{KEY.format('shoulder')}/###name")
        ctx.window_focus("//Response")
        ctx.yield_(2)
        ctx.item_click("//Response/Run on a copy")
        assert tuning.lab.wait()
        ctx.item_input_value(cell("shoulder", "kp"), 400.0)
        ctx.yield_(2)
        assert tuning.lab.wait()

    bench.run(runs)
    before, after = tuning.lab.before, tuning.lab.result
    assert before is not None and after is not None and not after.problem
    one, other = before.of(row), after.of(row)
    assert one is not None and one.metrics is not None and one.metrics.rise_time is not None
    assert other is not None and other.metrics is not None and other.metrics.rise_time is not None
    assert other.metrics.rise_time < one.metrics.rise_time


def test_a_controller_that_drives_nothing_is_given_motors(bench: Bench) -> None:
    state = bench.state

    def drops(ctx: Any) -> None:
        assert drop(state, "component", "PDController", "robot")
        ctx.yield_(3)
        assert bench.window.motors.is_open
        ctx.item_click("//The controller drives nothing/Use motors")
        ctx.yield_(3)

    bench.run(drops)
    assert bench.entries == ["Add PDController to robot", "Use motors on robot"]
    controller = state.simulation.world["robot"].controllers[0]
    assert isinstance(controller, ArticulationController)
    assert [b.actuator for b in controller.bindings] == ["left_shoulder", "right_shoulder"]
    assert controller.gains()["kp"].tolist() == [800.0, 800.0]  # at the joint: gear² times 200
    assert state.scene.path is not None  # as it was, with the model's own actuators
    worlds = mjrig.World(state.scene), mjrig.World(state.scene.path)
    for world in worlds:
        world.step(50)
    moved, native = (world.data.qpos for world in worlds)
    assert moved == pytest.approx(native, abs=1e-9) and abs(native).max() > 1e-3
    state.session.undo()
    assert not state.scene["robot"].use_motors
    assert state.simulation.world["robot"].controllers[0].num_bindings == 0
