"""The viewport: camera, picking, pushing, drawing flags, what is shown and when it is drawn."""

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from imgui_bundle import imgui

from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.editor.viewport import cameras
from mjrig.editor.viewport.drawing import Drawing, camera_matrices, floor_point
from mjrig.editor.viewport.scene_renderer import NullView
from tests.editor.windows import BOX, BOXES, SWINGS, Bench, menu, point_at_viewport, press

KEY = imgui.Key
WITH_CAMERA = """<mujoco><worldbody><camera name="eye" pos="0 -3 1"/>
<body name="box"><freejoint/><geom size=".2 .2 .2" type="box"/></body></worldbody></mujoco>"""
TREE = """
mjrig: 1
actors:
  - {name: first, model: box.xml}
  - {name: second, model: eye.xml, pose: {position: [0, 2, 1]}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "box.xml").write_text(BOX)
    (tmp_path / "eye.xml").write_text(WITH_CAMERA)
    return tmp_path


def _view(bench: Bench) -> NullView:
    assert isinstance(bench.window.viewport.view, NullView)
    return bench.window.viewport.view


# Mouse ------------------------------------------------------------------------------------------


def test_a_click_selects_the_actor_under_the_mouse_and_the_floor_nothing(folder: Path) -> None:
    bench = Bench.on(TREE, folder)
    picked: list[Any] = []

    def clicks(ctx: Any) -> None:
        ctx.yield_(2)
        for actor in ("second", "first"):
            ctx.mouse_move_to_pos(bench.on_screen(bench.drawing.root_pose(actor)[0]))
            ctx.mouse_click(0)
            picked.append(list(bench.state.selection.paths))
        ctx.key_down(int(KEY.mod_shift))
        ctx.mouse_move_to_pos(bench.on_screen(bench.drawing.root_pose("second")[0]))
        ctx.mouse_click(0)
        ctx.key_up(int(KEY.mod_shift))
        picked.append(list(bench.state.selection.paths))
        x, y, _, _ = bench.window.viewport.rect
        ctx.mouse_move_to_pos(imgui.ImVec2(x + 5, y + 5))
        ctx.mouse_click(0)
        picked.append(list(bench.state.selection.paths))

    bench.run(clicks)
    assert picked == [["second"], ["first"], ["first", "second"], []]
    assert bench.drawing.perturb.select == 0


def test_drags_turn_move_and_zoom_and_select_nothing(folder: Path) -> None:
    bench = Bench.on(TREE, folder)
    looks: list[tuple[float, ...]] = []

    def note() -> None:
        camera = bench.drawing.camera
        looks.append((camera.azimuth, camera.elevation, camera.distance, *camera.lookat))

    def drag(ctx: Any, button: int) -> None:
        x, y, width, height = bench.window.viewport.rect
        ctx.mouse_move_to_pos(imgui.ImVec2(x + width / 2, y + height / 2))
        ctx.mouse_drag_with_delta(imgui.ImVec2(60, 30), button)
        note()

    def drags(ctx: Any) -> None:
        ctx.yield_(2)
        note()
        drag(ctx, 0)
        drag(ctx, 1)
        ctx.mouse_wheel_y(3)
        ctx.yield_()
        note()

    bench.run(drags)
    start, turned, moved, zoomed = looks
    assert turned[0] != start[0] and turned[1] != start[1] and turned[2:] == start[2:]
    assert moved[:3] == turned[:3] and moved[3:] != turned[3:]
    assert zoomed[2] < moved[2]  # away from the hand is nearer, as the sheet of keys says
    assert not bench.state.selection.paths


def test_a_double_click_and_ctrl_drag_push_the_running_body_until_let_go(folder: Path) -> None:
    bench = Bench.on(BOXES, folder)
    world = bench.state.simulation.world
    forces: list[Any] = []

    def pushes(ctx: Any) -> None:
        ctx.yield_(2)
        ctx.mouse_move_to_pos(bench.on_screen(bench.drawing.root_pose("box")[0]))
        ctx.mouse_double_click(0)
        ctx.key_down(int(KEY.mod_ctrl))
        ctx.mouse_down(1)
        place = bench.on_screen(bench.drawing.root_pose("box")[0])
        ctx.mouse_move_to_pos(imgui.ImVec2(place.x + 40, place.y - 40))
        ctx.yield_(2)
        bench.state.simulation.drain()
        forces.append(world.data.xfrc_applied.copy())
        ctx.mouse_up(1)
        ctx.key_up(int(KEY.mod_ctrl))
        ctx.yield_(2)
        bench.state.simulation.drain()
        forces.append(world.data.xfrc_applied.copy())

    bench.run(pushes)
    body = world.model.body("box/box").id
    assert bench.state.selection.paths == ["box"]
    assert np.linalg.norm(forces[0][body, :3]) > 0.0
    assert not forces[0][[i for i in range(world.model.nbody) if i != body]].any()
    assert not forces[1].any()


def test_going_back_into_a_push_does_not_push_again(folder: Path) -> None:
    bench = Bench.on(BOXES, folder)
    simulation = bench.state.simulation
    seen: list[bool] = []

    def pushes(ctx: Any) -> None:
        ctx.yield_(2)
        ctx.mouse_move_to_pos(bench.on_screen(bench.drawing.root_pose("box")[0]))
        ctx.mouse_double_click(0)
        ctx.key_down(int(KEY.mod_ctrl))
        ctx.mouse_down(1)
        ctx.mouse_move_to_pos(bench.on_screen(bench.drawing.root_pose("box")[0] + 0.3))
        ctx.yield_(2)
        simulation.drain()
        simulation.advance(100)
        seen.append(bool(simulation.world.data.xfrc_applied.any()))
        ctx.mouse_up(1)
        ctx.key_up(int(KEY.mod_ctrl))
        ctx.yield_(2)
        simulation.drain()
        simulation.go_to(0.05)
        ctx.yield_(2)
        simulation.drain()
        seen.append(bool(simulation.world.data.xfrc_applied.any()))

    bench.run(pushes)
    assert seen == [True, False]


def test_a_push_never_reaches_a_body_of_another_world(folder: Path) -> None:
    bench = Bench.on(TREE, folder)
    viewport = bench.window.viewport
    drawing = viewport.follow()
    viewport._apply(drawing, 2, np.ones(6))
    with bench.state.session.edit("Delete first") as scene:
        scene.remove("first")
    bench.state.simulation.drain()
    assert not bench.state.simulation.world.data.xfrc_applied.any()


def test_delete_takes_away_what_was_clicked(folder: Path) -> None:
    bench = Bench.on(TREE, folder)

    def deletes(ctx: Any) -> None:
        ctx.yield_(2)
        ctx.mouse_move_to_pos(bench.on_screen(bench.drawing.root_pose("second")[0]))
        ctx.mouse_click(0)
        press(ctx, KEY.delete)

    bench.run(deletes)
    assert bench.actors == ["first"]
    assert bench.entries == ["Delete second"]


# Pictures ---------------------------------------------------------------------------------------


def test_nothing_is_drawn_again_while_nothing_changes(folder: Path) -> None:
    bench = Bench.on(BOXES, folder)
    bench.window.quality.fixed = 0.5
    counts: list[int] = []

    def waits(ctx: Any) -> None:
        point_at_viewport(ctx)
        ctx.yield_(4)
        counts.append(_view(bench).renders)
        ctx.yield_(4)
        counts.append(_view(bench).renders)
        bench.state.simulation.step_once()
        ctx.yield_(3)
        counts.append(_view(bench).renders)
        press(ctx, KEY.c)
        counts.append(_view(bench).renders)

    bench.run(waits)
    assert counts[1] == counts[0]
    assert counts[2] == counts[1] + 1
    assert counts[3] == counts[2] + 1


def test_a_turn_of_a_fixed_actor_is_drawn_while_it_is_dragged() -> None:
    bench = Bench.on(SWINGS)
    bench.window.quality.fixed = 0.5
    counts: list[int] = []

    def turns(ctx: Any) -> None:
        ctx.yield_(4)
        counts.append(_view(bench).renders)
        half = np.sqrt(0.5)
        bench.window.viewport.gizmo.draw = lambda drawing, rect: None  # type: ignore[method-assign]
        bench.drawing.shifts = {"left": (np.zeros(3), np.array([half, 0.0, 0.0, half]))}
        ctx.yield_(2)
        counts.append(_view(bench).renders)

    bench.run(turns)
    assert counts[1] == counts[0] + 1


def test_the_flags_of_mujocos_viewer_have_its_keys_and_a_menu() -> None:
    bench = Bench.on(SWINGS)
    vis, rnd = mujoco.mjtVisFlag, mujoco.mjtRndFlag
    seen: list[int] = []

    def toggles(ctx: Any) -> None:
        point_at_viewport(ctx)
        flags, picture = bench.drawing.option.flags, bench.drawing.scene.flags
        for key, table, flag in (
            (KEY.c, flags, vis.mjVIS_CONTACTPOINT),
            (KEY.j, flags, vis.mjVIS_JOINT),
            (KEY.f, flags, vis.mjVIS_CONTACTFORCE),
            (KEY.semicolon, flags, vis.mjVIS_SKIN),
            (KEY.w, picture, rnd.mjRND_WIREFRAME),
        ):
            before = int(table[flag])
            press(ctx, key)
            seen.append(int(table[flag]) - before)
        menu(ctx, "Draw/Inertia")
        seen.append(int(flags[vis.mjVIS_INERTIA]))

    bench.run(toggles)
    assert seen == [1, 1, 1, -1, 1, 1]


def test_keys_choose_groups_frames_and_labels() -> None:
    bench = Bench.on(SWINGS)
    seen: list[int] = []

    def toggles(ctx: Any) -> None:
        option = bench.drawing.option
        before = int(option.geomgroup[1]), int(option.sitegroup[2])
        point_at_viewport(ctx)
        press(ctx, KEY._1)
        press(ctx, KEY.mod_shift, KEY._2)
        seen.extend((int(option.geomgroup[1]) - before[0], int(option.sitegroup[2]) - before[1]))
        press(ctx, KEY.f6)
        press(ctx, KEY.f7)
        seen.extend((option.frame, option.label))

    bench.run(toggles)
    assert seen == [-1, -1, 1, 1]


def test_the_quality_menu_fixes_the_scale_and_lets_it_go() -> None:
    bench = Bench.on(SWINGS)
    seen: list[float | None] = []

    def chooses(ctx: Any) -> None:
        menu(ctx, "Draw/75%")
        seen.append(bench.window.quality.fixed)
        menu(ctx, "Draw/automatic")
        seen.append(bench.window.quality.fixed)

    bench.run(chooses)
    assert seen == [0.75, None]


# Cameras ----------------------------------------------------------------------------------------


def test_the_camera_menu_follows_looks_through_and_goes_free(folder: Path) -> None:
    bench = Bench.on(TREE, folder)
    seen: list[str] = []

    def chooses(ctx: Any) -> None:
        bench.state.selection.only("first")
        ctx.yield_(2)
        menu(ctx, "Camera/Follow first")
        seen.append(cameras.text(bench.drawing))
        menu(ctx, "Camera/second\\/eye")
        seen.append(cameras.text(bench.drawing))
        press(ctx, KEY.escape)
        seen.append(cameras.text(bench.drawing))
        press(ctx, KEY.right_bracket)
        seen.append(cameras.text(bench.drawing))
        press(ctx, KEY.right_bracket)
        seen.append(cameras.text(bench.drawing))
        press(ctx, KEY.left_bracket)
        seen.append(cameras.text(bench.drawing))

    bench.run(chooses)
    assert seen == ["follow first", "second/eye", "free", "second/eye", "free", "second/eye"]


def test_a_pan_while_following_moves_the_view_and_it_goes_on_following(folder: Path) -> None:
    bench = Bench.on(TREE, folder)
    looks: list[Any] = []

    def note() -> None:
        looks.append(np.array(bench.drawing.camera.lookat))

    def pans(ctx: Any) -> None:
        bench.state.selection.only("first")
        ctx.yield_(2)
        menu(ctx, "Camera/Follow first")
        ctx.yield_()
        note()
        x, y, width, height = bench.window.viewport.rect
        ctx.mouse_move_to_pos(imgui.ImVec2(x + width / 2, y + height / 2))
        ctx.mouse_drag_with_delta(imgui.ImVec2(60, 30), 1)
        note()
        bench.state.attempt(lambda: bench.state.session.set("first.pose.position", [5, 0, 0]))
        ctx.yield_(2)
        note()
        menu(ctx, "Camera/Follow first")  # off
        menu(ctx, "Camera/Follow first")
        ctx.yield_()
        note()

    bench.run(pans)
    assert cameras.text(bench.drawing) == "follow first"
    start, panned, moved, again = looks
    assert np.linalg.norm(panned - start) > 0.01
    assert moved - panned == pytest.approx(again - start, abs=1e-6)  # it went with the actor
    assert np.linalg.norm(again - start) > 1.0


def test_home_looks_at_the_selected_actor_and_ctrl_a_at_everything(folder: Path) -> None:
    bench = Bench.on(TREE, folder)
    looks: list[Any] = []

    def looks_at(ctx: Any) -> None:
        bench.state.selection.only("second")
        ctx.yield_()
        point_at_viewport(ctx)
        press(ctx, KEY.home)
        looks.append(bench.drawing.camera.lookat.copy())
        press(ctx, KEY.mod_ctrl, KEY.a)
        looks.append(bench.drawing.camera.lookat.copy())

    bench.run(looks_at)
    assert looks[0] == pytest.approx([0, 2, 1], abs=1e-6)
    assert looks[1] != pytest.approx(looks[0])


def test_camera_and_flags_outlive_a_structural_edit_by_name(folder: Path) -> None:
    bench = Bench.on(TREE, folder)
    viewport, session = bench.window.viewport, bench.state.session
    drawing = viewport.follow()
    drawing.option.flags[0] = 1
    cameras.follow(drawing, "second")
    with session.edit("Delete first") as scene:
        scene.remove("first")
    drawing = viewport.follow()
    assert cameras.text(drawing) == "follow second"
    assert drawing.option.flags[0] == 1
    cameras.look_through(drawing, "second/eye")
    session.undo()
    assert cameras.text(viewport.follow()) == "second/eye"
    with session.edit("Delete second") as scene:
        scene.remove("second")
    assert cameras.text(viewport.follow()) == "free"


def test_the_matrices_of_the_camera_agree_with_mujocos_picking(folder: Path) -> None:
    world = World(Scene.parse(BOXES, folder), "python")
    drawing = Drawing(world, 0)
    mujoco.mj_forward(drawing.model, drawing.data)
    drawing.update()
    view, projection = camera_matrices(drawing.scene, 1.5)
    clip = projection @ view @ np.append(drawing.root_pose("box")[0], 1.0)
    x, y = (clip[0] / clip[3] + 1) / 2, (1 - clip[1] / clip[3]) / 2
    body, point = drawing.pick(x, y, 1.5)
    assert drawing.actor_of(body) == "box"
    assert np.linalg.norm(point - [0, 0, 3]) < 0.4
    on_floor = floor_point(x, 0.95, view, projection)
    assert on_floor is not None
    back = projection @ view @ np.append(on_floor, 1.0)
    assert (1 - back[1] / back[3]) / 2 == pytest.approx(0.95)
    drawing.camera.elevation = 30.0  # looks up: there is no floor in the upper half
    drawing.update()
    assert floor_point(0.5, 0.05, *camera_matrices(drawing.scene, 1.5)) is None


# Faults -----------------------------------------------------------------------------------------


def test_a_diverged_world_is_told_of_and_rewound_by_the_button() -> None:
    bench = Bench.on(SWINGS)
    simulation = bench.state.simulation
    times: list[float] = []

    def rewinds(ctx: Any) -> None:
        simulation.advance(1500)
        simulation.call(lambda world: world.data.qvel.fill(1e12))
        simulation.advance(10)
        simulation.publish()
        ctx.yield_(3)
        ctx.item_click("//Viewport/**/Rewind 1 s")
        times.append(simulation.frame.time)

    bench.run(rewinds)
    assert times == [pytest.approx(0.5, abs=0.05)]
    assert simulation.fault is None
    assert any("diverged" in text for text in bench.problems)
    simulation.step_once(10)
    assert simulation.fault is None


def test_another_scene_has_nothing_to_do_with_the_fault_of_this_one() -> None:
    bench = Bench.on(SWINGS)
    simulation = bench.state.simulation
    simulation.call(lambda world: world.data.qvel.fill(1e12))
    simulation.advance(10)
    assert simulation.fault is not None
    bench.window.files.open_scene(Scene())
    assert simulation.fault is None
