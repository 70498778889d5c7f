"""A joint that is selected anywhere is selected everywhere: view, tree, gain table, plots."""

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from imgui_bundle import imgui

from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.editor.panels.plots_panel import element_of
from mjrig.editor.session.elements import Elements, split
from tests.editor.inspector.zoo import ZOO, company
from tests.editor.windows import Bench
from tests.worlds import make_robot

HIP = "one.joint:hip"
CURVES = ("one.hip_motor.setpoint", "one.hip_motor.position", "one.sensor:claw_angle")
ROW = "//Gains/gains 3/one.PDController.hip_motor/###name"


def _names(bench: Bench, bodies: tuple[int, ...]) -> set[str]:
    return {bench.drawing.model.body(b).name for b in bodies}


def _in_view(bench: Bench, body: str) -> Any:
    return bench.on_screen(bench.drawing.data.xipos[bench.drawing.model.body(body).id])


def _is_open(ctx: Any, path: str) -> bool:
    """Whether an entry of the tree can be seen."""
    if not ctx.item_exists(f"//Hierarchy/**/###{path}"):
        return False
    shown = ctx.item_info(f"//Hierarchy/**/###{path}").rect_clipped
    return bool(shown.max.y - shown.min.y > 1)


def _click_curve(ctx: Any, bench: Bench, signal: str) -> None:
    """Click the name of a signal in the legend, right of the plot."""
    left, width = next(iter(bench.window.plots.inside.values()))
    row = ctx.item_info(f"//Plots/**/{signal}/x##out").rect_full
    ctx.mouse_move_to_pos(imgui.ImVec2(left + width + 60.0, (row.min.y + row.max.y) / 2))
    ctx.mouse_click(0)


def test_a_second_click_on_a_link_selects_its_joint_everywhere(tmp_path: Path) -> None:
    bench = company(tmp_path)
    picked: list[str] = []
    seen: list[Any] = []

    def click(ctx: Any, body: str) -> None:
        ctx.mouse_move_to_pos(_in_view(bench, body))
        ctx.sleep(1.0)  # two quick clicks are a double click
        ctx.mouse_click(0)
        ctx.yield_(2)
        picked.append(bench.state.selection.paths[0])

    def clicks(ctx: Any) -> None:
        ctx.yield_(2)
        for body in ("one/thigh", "one/thigh"):
            click(ctx, body)
        tuning = bench.window.gains.tuning
        seen.append((_names(bench, bench.drawing.marked[0]), tuning.chosen, _is_open(ctx, HIP)))
        seen.append(bench.drawing.model.body(bench.drawing.perturb.select).name)
        for body in ("one/toe", "one/head", "one/trunk", "one/trunk", "two/head", "two/head"):
            click(ctx, body)
        for body in ("guest/head", "guest/head"):
            click(ctx, body)
        seen.append(_is_open(ctx, "guest.joint:neck"))

    bench.run(clicks)
    assert picked[:2] == ["one", HIP]
    assert seen[0] == ({"one/thigh"}, ["one.PDController.hip_motor"], True)
    assert seen[1] == "one/thigh"
    assert picked[2:6] == ["one.joint:knee", "one.joint:neck", "one.joint:root", "one"]
    assert picked[6:8] == ["two", "two.joint:neck"]
    assert picked[8:] == ["guest", "guest.joint:neck"] and seen[2]


def test_rows_curves_and_the_tree_select_the_joint_everywhere(tmp_path: Path) -> None:
    bench = company(tmp_path)
    state, seen = bench.state, []
    state.selection.only("one")

    def marks() -> Any:
        plots = bench.window.plots
        marked = [s for s in plots.board.plots[0].signals if plots.is_marked(s)]
        return (
            list(state.selection.paths),
            _names(bench, bench.drawing.marked[0]),
            bench.window.gains.tuning.chosen,
            len(marked),
        )

    def clicks(ctx: Any) -> None:
        ctx.yield_(3)
        board = bench.window.plots.board
        board.remove(board.plots[0], *board.plots[0].signals)
        board.add(board.plots[0], *CURVES)
        ctx.item_click(ROW)
        ctx.yield_(2)
        seen.append(marks())
        _click_curve(ctx, bench, "one.sensor:claw_angle")
        ctx.yield_(2)
        seen.append(marks())
        _click_curve(ctx, bench, "one.hip_motor.position")
        ctx.yield_(2)
        seen.append(marks())
        ctx.item_click("//Hierarchy/**/###one.joint:knee")
        ctx.yield_(2)
        seen.append(marks())

    bench.run(clicks)
    hip = ([HIP], {"one/thigh"}, ["one.PDController.hip_motor"], 2)
    assert seen[0] == seen[2] == hip
    assert seen[1][:2] == (["one.joint:claw"], {"one/claw"}) and seen[1][3] == 1
    assert seen[3][:2] == (["one.joint:knee"], {"one/shin", "one/toe"}) and seen[3][3] == 0


# What moves what --------------------------------------------------------------------------------


def _elements(model: str = ZOO) -> tuple[World, Elements]:
    world, _ = make_robot(model)
    return world, Elements(world)


@pytest.mark.parametrize("seed", range(3))
def test_the_bodies_of_a_joint_are_those_that_move_with_it(seed: int) -> None:
    world, elements = _elements()
    model, data = world.model, mujoco.MjData(world.model)
    rng = np.random.default_rng(seed)
    for joint in elements.joints.values():
        data.qpos[:] = model.qpos0
        mujoco.mj_integratePos(model, data.qpos, rng.normal(size=model.nv), 0.3)
        mujoco.mj_kinematics(model, data)
        before = np.hstack([data.xpos, data.xquat])
        velocity = np.zeros(model.nv)
        velocity[joint.dof] = 1.0
        mujoco.mj_integratePos(model, data.qpos, velocity, 0.3)
        mujoco.mj_kinematics(model, data)
        moved = np.abs(np.hstack([data.xpos, data.xquat]) - before).max(axis=1) > 1e-9
        assert set(np.flatnonzero(moved).tolist()) == set(joint.bodies)


WIRED = """<mujoco><worldbody><body name="a" pos="0 0 1"><joint name="j"/><geom size=".1"/>
<site name="here" pos=".1 .2 .3"/>
<body name="b" pos="1 0 .2"><joint name="k" axis="0 1 0"/><geom size=".1"/>
<site name="there" pos=".3 0 .1"/><body name="c" pos="0 1 0"><joint name="l" type="ball"/>
<geom name="pulley" size=".05"/><site name="end" pos=".2 .3 .1"/></body></body></body></worldbody>
<tendon><spatial name="wire"><site site="here"/><site site="there"/><site site="end"/></spatial>
<spatial name="short"><site site="there"/><site site="end"/></spatial></tendon>
<actuator><motor name="wire" tendon="wire"/><motor name="short" tendon="short"/>
<motor name="thrust" site="end" gear="1 2 3 .1 .2 .3"/>
<motor name="relative" site="end" refsite="there" gear="1 1 1 1 1 1"/>
<adhesion name="stick" body="c" ctrlrange="0 1"/><motor name="ball" joint="l" gear="1 1 1"/>
</actuator></mujoco>"""


def test_the_joints_of_an_actuator_are_those_its_force_acts_on() -> None:
    world, elements = _elements(WIRED)
    model, data = world.model, mujoco.MjData(world.model)
    mujoco.mj_integratePos(model, data.qpos, np.full(model.nv, 0.2), 1.0)
    names = {int(model.joint(f"robot/{n}").id): n for n in "jkl"}
    for one in elements.actuators.values():
        data.ctrl[:] = 0.0
        data.ctrl[one.binding.ctrl_address] = 1.0
        mujoco.mj_forward(model, data)
        dofs = np.flatnonzero(np.abs(data.qfrc_actuator) > 1e-12)
        assert {names[int(model.dof_jntid[d])] for d in dofs} == set(one.joints), one.name
    assert elements.moved(["robot.actuator:short"])[0] == [model.body("robot/c").id]
    assert elements.actuators["robot.actuator:stick"].bodies == (model.body("robot/c").id,)


def test_a_signal_is_about_the_joint_of_its_actuator_or_sensor() -> None:
    scene = Scene.parse("mjrig: 1\nactors: []\n")
    assert Elements(World(scene)).joints == {}
    world, elements = _elements()
    links = elements.moved(["robot.actuator:puller"])[0]
    assert [world.model.body(b).name for b in links] == ["robot/rail", "robot/claw"]
    found = {
        signal: element_of(elements, f"robot.{signal}")
        for signal in ("hip_motor.position", "PDController.kp[hip_motor]", "puller.effort",
                       "sensor:claw_angle", "height", "nobody.position", "sensor:none[0]")
    }  # fmt: skip
    assert list(found.values()) == [
        "robot.joint:hip", "robot.joint:hip", "robot.actuator:puller", "robot.joint:claw",
        None, None, None,
    ]  # fmt: skip
    assert split("robot.joint:a.b:c") == ("robot", "joint", "a.b:c")
    assert split("robot.PDController") is split("scene") is None
