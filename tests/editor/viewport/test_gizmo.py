"""Handles: what a drag writes, on which grid, and why some actors have none."""

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from imgui_bundle import imgui

from mjrig.core.scene.pose import Rigid, composed
from mjrig.editor.viewport.gizmo import Gizmo, Tool, _matrix, _pose, _shift, euler_deg, snapped
from tests.editor.windows import BOX, SWINGS, Bench, press
from tests.wording import matches

KEY = imgui.Key
angle = st.floats(-180.0, 180.0, allow_nan=False)


def _quaternion(*degrees: float) -> Any:
    quaternion = np.zeros(4)
    mujoco.mju_euler2Quat(quaternion, np.radians(degrees), "xyz")
    return quaternion


@settings(deadline=None)
@given(x=angle, y=angle, z=angle)
def test_angles_mean_the_rotation_they_were_made_from(x: float, y: float, z: float) -> None:
    given_ = _quaternion(x, y, z)
    back = _quaternion(*euler_deg(given_))
    assert abs(float(given_ @ back)) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("y", [90.0, -90.0])
@pytest.mark.parametrize("z", [0.0, 30.0, 170.0])
def test_angles_at_the_pole(y: float, z: float) -> None:
    given_ = _quaternion(20.0, y, z)
    found = euler_deg(given_)
    assert found[2] == 0.0
    assert abs(float(given_ @ _quaternion(*found))) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("axis", range(3))
def test_one_angle_comes_back_as_that_angle(axis: int) -> None:
    angles = np.zeros(3)
    angles[axis] = 37.5
    assert euler_deg(_quaternion(*angles)) == pytest.approx(angles, abs=1e-9)


def test_snapping_leaves_what_is_not_dragged_alone() -> None:
    turn = _quaternion(3, 0, 22)
    moved = snapped(_matrix(np.array([0.14, 0.16, -0.26]), turn), turning=False)
    assert moved[:3, 3] == pytest.approx([0.1, 0.2, -0.3])
    assert abs(float(_pose(moved)[1] @ turn)) == pytest.approx(1.0)
    turned = snapped(_matrix(np.array([0.14, 0.16, -0.26]), turn), turning=True)
    assert turned[:3, 3] == pytest.approx([0.14, 0.16, -0.26])
    assert euler_deg(_pose(turned)[1]) == pytest.approx([0, 0, 15], abs=1e-9)


def test_a_shift_leads_from_one_pose_to_the_other() -> None:
    start = _matrix(np.array([1.0, 2.0, 3.0]), _quaternion(10, 20, 30))
    end = _matrix(np.array([-1.0, 0.5, 3.0]), _quaternion(-40, 20, 99))
    reached = composed(*_shift(start, end), *_pose(start))
    assert _matrix(*reached) == pytest.approx(end)


# What is written --------------------------------------------------------------------------------


def _written(pose: str, moved: Rigid) -> str:
    """What a scene says of an actor's pose after it was put somewhere."""
    text = SWINGS.replace("    pose: {position: [0, 2, 0]}   # beside it\n", pose)
    bench = Bench.on(text)
    Gizmo(bench.state).move("right", *moved)
    lines = bench.state.scene.to_text().splitlines()
    found = [line for line in lines if "pose" in line or "beside" in line]
    assert len(lines) <= len(text.splitlines()) + 1
    return "\n".join(found)


def _at(position: list[float], *degrees: float) -> Rigid:
    return Rigid(np.array(position, dtype=float), _quaternion(*degrees or (0, 0, 0)))


def test_a_move_writes_the_position_only() -> None:
    before = "    pose: {position: [0, 2, 0]}   # beside it\n"
    moved = _at([1.0, 2.25, 1 / 3])
    assert _written(before, moved) == "    pose: {position: [1.0, 2.25, 0.3333]}   # beside it"


def test_a_turn_is_written_in_the_words_that_are_there() -> None:
    euler = "    pose: {position: [0, 2, 0], euler_deg: [0, 0, 10]}   # beside it\n"
    assert _written(euler, _at([0, 2, 0], 0, 0, 45)) == (
        "    pose: {position: [0, 2, 0], euler_deg: [0, 0, 45.0]}   # beside it"
    )
    quaternion = "    pose: {quaternion: [1, 0, 0, 0]}   # beside it\n"
    assert _written(quaternion, _at([0, 0, 0], 0, 0, 180)) == (
        "    pose: {quaternion: [0.0, 0, 0, 1.0]}   # beside it"
    )
    plain = "    pose: {position: [0, 2, 0]}   # beside it\n"
    assert "euler_deg: [0.0, 0.0, 45.0]" in _written(plain, _at([0, 2, 0], 0, 0, 45))


def test_an_actor_without_a_pose_gets_one() -> None:
    bench = Bench.on(SWINGS)
    Gizmo(bench.state).move("left", *_at([1, 0, 0]))
    pose = bench.state.scene["left"].pose
    assert pose is not None
    assert pose.to_data() == {"position": [1.0, 0.0, 0.0]}
    bench.state.session.undo()
    assert bench.state.scene.to_text() == SWINGS


# In the window ----------------------------------------------------------------------------------


def _drag(bench: Bench, ctx: Any, actor: str, dx: float, dy: float) -> None:
    spot = bench.on_screen(bench.drawing.root_pose(actor)[0])
    ctx.mouse_move_to_pos(spot)
    ctx.yield_(3)
    ctx.mouse_down(0)
    ctx.yield_(2)
    ctx.mouse_move_to_pos(imgui.ImVec2(spot.x + dx, spot.y + dy))
    ctx.yield_(3)


def test_a_drag_is_shown_at_once_and_is_one_edit_when_it_ends() -> None:
    bench = Bench.on(SWINGS)
    seen: list[Any] = []

    def drags(ctx: Any) -> None:
        bench.state.selection.only("right")
        press(ctx, KEY.mod_ctrl, KEY._2)
        ctx.yield_(2)
        before = bench.drawing.root_pose("right")[0]
        _drag(bench, ctx, "right", 60, 20)
        shown = bench.drawing.root_pose("right")[0]
        seen.append(float(np.linalg.norm(shown - before)))
        seen.append(bench.entries)
        ctx.mouse_up(0)
        ctx.yield_(3)
        seen.append(float(np.linalg.norm(bench.drawing.root_pose("right")[0] - shown)))

    bench.run(drags)
    assert seen[0] > 0.1
    assert seen[1] == []
    assert seen[2] < 1e-3
    assert bench.entries == ["Move right"]
    assert not bench.drawing.shifts


def test_ctrl_puts_a_dragged_actor_on_the_grid() -> None:
    bench = Bench.on(SWINGS)

    def drags(ctx: Any) -> None:
        bench.state.selection.only("left")
        bench.window.viewport.gizmo.tool = Tool.MOVE
        ctx.yield_(2)
        _drag(bench, ctx, "left", 55, 10)
        ctx.key_down(int(KEY.mod_ctrl))
        spot = imgui.get_mouse_pos()
        ctx.mouse_move_to_pos(imgui.ImVec2(spot.x + 7, spot.y + 3))
        ctx.yield_(2)
        ctx.mouse_up(0)
        ctx.key_up(int(KEY.mod_ctrl))
        ctx.yield_(2)

    bench.run(drags)
    pose = bench.state.scene["left"].pose
    assert pose is not None
    assert bench.entries == ["Move left"]
    stands = bench.drawing.root_pose("left")[0]
    assert stands * 10 == pytest.approx(np.round(stands * 10), abs=1e-3)


def test_orbiting_over_the_handles_goes_on() -> None:
    bench = Bench.on(SWINGS)
    azimuths: list[float] = []

    def orbits(ctx: Any) -> None:
        bench.state.selection.only("left")
        bench.window.viewport.gizmo.tool = Tool.MOVE
        ctx.yield_(2)
        spot = bench.on_screen(bench.drawing.root_pose("left")[0])
        ctx.mouse_move_to_pos(imgui.ImVec2(spot.x - 150, spot.y + 60))
        ctx.yield_(2)
        ctx.mouse_down(0)
        for step in range(30):
            ctx.mouse_move_to_pos(imgui.ImVec2(spot.x - 150 + 10 * step, spot.y + 60 - 2 * step))
            ctx.yield_()
            azimuths.append(bench.drawing.camera.azimuth)
        ctx.mouse_up(0)
        ctx.yield_(2)

    bench.run(orbits)
    assert len(set(azimuths)) > 25
    assert bench.entries == []


FRAMED = """
mjrig: 1
frames:
  - {name: desk, position: [5, 0, 1], euler_deg: [0, 0, 90]}
actors:
  - {name: box, model: box.xml, pose: {relative_to: desk, position: [1, 0, 0]}}
"""


def test_a_pose_in_a_frame_is_written_in_that_frame(tmp_path: Path) -> None:
    (tmp_path / "box.xml").write_text(BOX)
    bench = Bench.on(FRAMED, tmp_path)
    gizmo, session = Gizmo(bench.state), bench.state.session
    actor = bench.state.scene["box"]
    moved = gizmo._moved(actor, Rigid(np.array([0.0, 0.0, 2.0]), np.array([1.0, 0, 0, 0])))
    gizmo.move("box", *moved)
    assert session.scene["box"].pose.position == pytest.approx([1, 0, 2])  # type: ignore[union-attr]
    actor = bench.state.scene["box"]
    moved = gizmo._moved(actor, Rigid(np.array([1.0, 0.0, 0.0]), np.array([1.0, 0, 0, 0])))
    assert moved.position == pytest.approx([1, -1, 2])


REPLICATED = """
mjrig: 1
actors:
  - name: box
    model: box.xml
    replicate: {count: [2, 1, 1], spacing: [1, 1, 1]}
  - {name: base, model: box.xml, pose: {position: [0, 5, 0]}}
  - {name: rider, model: rod.xml, attach: {to: base/box}}
include:
  - {file: other.yaml, prefix: far_}
"""
ROD = '<mujoco><worldbody><body name="rod"><geom size=".1"/></body></worldbody></mujoco>'


@pytest.fixture
def crowd(tmp_path: Path) -> Bench:
    """Actors that are described, copied, attached and included."""
    (tmp_path / "box.xml").write_text(BOX)
    (tmp_path / "rod.xml").write_text(ROD)
    (tmp_path / "other.yaml").write_text("mjrig: 1\nactors:\n  - {name: rod, model: rod.xml}\n")
    return Bench.on(REPLICATED, tmp_path)


def test_what_cannot_be_moved_says_why(crowd: Bench) -> None:
    bench = crowd
    names = list(bench.state.simulation.world.articulations)
    copies = [n for n in names if n.startswith("box")]
    reasons: dict[str, str] = {}

    def selects(ctx: Any) -> None:
        bench.window.viewport.gizmo.tool = Tool.MOVE
        for name in (*copies, "box", "base", "rider", "far_rod", "nobody"):
            bench.state.selection.only(name)
            ctx.yield_(2)
            reasons[name] = bench.window.viewport.gizmo.reason
        bench.window.viewport.gizmo.tool = Tool.SELECT
        ctx.yield_(2)
        reasons["no tool"] = bench.window.viewport.gizmo.reason

    bench.run(selects)
    assert len(copies) == 2
    assert {reasons[c] for c in copies} == {f"{c} is a copy of box: edit that one" for c in copies}
    assert matches(reasons["box"], "box has copies: edit …")
    assert matches(reasons["rider"], "rider is attached to base/box …")
    assert reasons["far_rod"].startswith("far_rod comes from the included file ")
    assert reasons["far_rod"].endswith("other.yaml: edit it there")
    assert reasons["base"] == reasons["nobody"] == reasons["no tool"] == ""


def test_included_and_copied_actors_are_listed_and_refused(crowd: Bench) -> None:
    bench = crowd

    def deletes(ctx: Any) -> None:
        ctx.item_click("//Hierarchy/###far_rod")
        ctx.yield_()
        press(ctx, KEY.delete)
        press(ctx, KEY.mod_ctrl, KEY.d)

    bench.run(deletes)
    assert len(bench.problems) == 2
    assert all(p.startswith("far_rod comes from the included file") for p in bench.problems)
    assert bench.entries == []
