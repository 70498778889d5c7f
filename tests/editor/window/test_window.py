"""The whole window: undo, files, questions, pictures; with scenes of every kind."""

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from imgui_bundle import imgui

from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.editor.edits.edits import Edit
from mjrig.editor.edits.play_mode_edits import kept_changes
from mjrig.editor.session.autosave import Autosave, unsaved
from mjrig.editor.session.session import Session
from mjrig.editor.session.simulation import SimThread
from mjrig.editor.session.state import EditorState
from mjrig.editor.ui.path_dialog import listing
from mjrig.editor.viewport.scene_renderer import NullView
from mjrig.editor.window.scene_files import open_file
from mjrig.editor.window.window import Window
from mjrig.lab.gains.gain_rows import gain_rows
from tests.editor.ui_driver import run_ui_tests, wait_until
from tests.editor.windows import BOX, BOXES, SWINGS, Bench, menu, point_at_viewport, press
from tests.wording import mentions

KEY = imgui.Key
UNSAVED, CHOOSE = "//Unsaved changes/", "//Choose a file/"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files without a folder go into an own one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _edit(bench: Bench, kp: float = 33) -> None:
    bench.state.session.set("left.PDController.kp", kp)


# Undo -------------------------------------------------------------------------------------------


def test_undo_and_redo_by_key_menu_and_history() -> None:
    bench = Bench.on(SWINGS)
    seen: list[Any] = []

    def kp() -> Any:
        return bench.state.scene["left"].components[0].to_data()["kp"]

    def goes_back(ctx: Any) -> None:
        for value in (11, 12, 13):
            _edit(bench, value)
        press(ctx, KEY.mod_ctrl, KEY.z)
        seen.append(kp())
        press(ctx, KEY.mod_ctrl, KEY.y)
        seen.append(kp())
        menu(ctx, "Edit/###undo")
        menu(ctx, "Edit/###undo")
        seen.append(kp())
        press(ctx, KEY.mod_ctrl, KEY.mod_shift, KEY.z)
        seen.append(kp())
        menu(ctx, "Edit/History/0. As opened")
        seen.append(kp())
        menu(ctx, "Edit/History/3. Set left.PDController.kp")
        seen.append(kp())

    bench.run(goes_back)
    assert seen == [12, 13, 11, 12, 10, 13]
    assert bench.state.simulation.world["left"].controllers[0].gains()["kp"][0] == 13


# Save -------------------------------------------------------------------------------------------


def test_ctrl_s_writes_the_file_with_a_diff_one_would_type(here: Path) -> None:
    bench = Bench.on_file(here / "scene.yaml", SWINGS)

    def saves(ctx: Any) -> None:
        _edit(bench)
        ctx.yield_()
        press(ctx, KEY.mod_ctrl, KEY.s)

    bench.run(saves)
    assert (here / "scene.yaml").read_text() == SWINGS.replace("kp: 10,", "kp: 33,")
    assert not bench.state.session.is_dirty
    assert bench.state.title == "scene.yaml - mjrig"


def test_the_title_tells_the_file_and_what_is_unsaved(here: Path) -> None:
    bench = Bench.on_file(here / "scene.yaml", SWINGS)
    titles: list[str] = []
    bench.window.show_title = titles.append
    bench.window.each_frame()
    bench.window.each_frame()
    _edit(bench)
    bench.window.each_frame()
    bench.window.files.save(here / "other.yaml")
    bench.window.each_frame()
    assert titles == ["scene.yaml - mjrig", "*scene.yaml - mjrig", "other.yaml - mjrig"]


def test_a_scene_without_a_file_asks_where_to(here: Path) -> None:
    bench = Bench.on(SWINGS)

    def saves(ctx: Any) -> None:
        press(ctx, KEY.mod_ctrl, KEY.s)
        ctx.item_input_value(CHOOSE + "##path", str(here / "neu"))
        ctx.yield_(2)

    bench.run(saves)
    assert (here / "neu.yaml").read_text() == SWINGS
    assert bench.state.scene.path == here / "neu.yaml"


def test_save_as_says_what_it_would_replace(here: Path) -> None:
    bench = Bench.on_file(here / "scene.yaml", SWINGS)
    (here / "other.yaml").write_text("mjrig: 1\n")
    written: list[str] = []

    def saves(ctx: Any) -> None:
        press(ctx, KEY.mod_ctrl, KEY.mod_shift, KEY.s)
        ctx.item_input_value(CHOOSE + "##path", str(here / "other.yaml"))
        ctx.yield_(2)  # the Enter of it is not enough to replace somebody else's file
        written.append((here / "other.yaml").read_text())
        ctx.item_click(CHOOSE + "###go")
        ctx.yield_(2)

    bench.run(saves)
    assert written == ["mjrig: 1\n"]
    assert (here / "other.yaml").read_text() == SWINGS
    assert (here / "scene.yaml").read_text() == SWINGS


def test_a_file_that_was_changed_on_disk_is_not_overwritten(here: Path) -> None:
    bench = Bench.on_file(here / "scene.yaml", SWINGS)
    _edit(bench)
    (here / "scene.yaml").write_text("mjrig: 1\n")
    assert not bench.window.files.save()
    (problem,) = bench.problems
    assert mentions(problem, "was changed on disk …")
    assert (here / "scene.yaml").read_text() == "mjrig: 1\n"
    assert bench.state.session.is_dirty
    assert bench.window.files.save(here / "mine.yaml")
    assert not bench.state.session.is_dirty


def _saves_and_answers(bench: Bench, answer: str) -> None:
    def saves(ctx: Any) -> None:
        press(ctx, KEY.mod_ctrl, KEY.s)
        ctx.yield_(2)
        ctx.item_click(f"//Changed on disk/{answer}")
        ctx.yield_(2)

    bench.run(saves)


def test_a_file_that_was_changed_on_disk_is_overwritten_only_when_told(here: Path) -> None:
    bench = Bench.on_file(here / "scene.yaml", SWINGS)
    _edit(bench)
    (here / "scene.yaml").write_text("mjrig: 1\n")
    _saves_and_answers(bench, "Overwrite")
    assert (here / "scene.yaml").read_text() == bench.state.scene.to_text() != SWINGS
    assert (here / "scene.yaml~").read_text() == "mjrig: 1\n"
    assert not bench.state.session.is_dirty


def test_a_file_that_was_changed_on_disk_stays_when_the_save_is_given_up(here: Path) -> None:
    bench = Bench.on_file(here / "scene.yaml", SWINGS)
    _edit(bench)
    (here / "scene.yaml").write_text("mjrig: 1\n")
    _saves_and_answers(bench, "Cancel")
    assert (here / "scene.yaml").read_text() == "mjrig: 1\n"
    assert bench.state.session.is_dirty


# Close ------------------------------------------------------------------------------------------


def test_a_clean_window_closes_at_once() -> None:
    bench = Bench.on(SWINGS)
    assert bench.window.may_close()


@pytest.mark.parametrize(
    ("button", "closes", "kp"),
    [("Save", True, 33), ("Don't save", True, 10), ("Cancel", False, 10)],
)
def test_closing_with_unsaved_changes_asks(here: Path, button: str, closes: bool, kp: int) -> None:
    bench = Bench.on_file(here / "scene.yaml", SWINGS)
    asked: list[bool] = []

    def answers(ctx: Any) -> None:
        _edit(bench)
        asked.append(bench.window.may_close())
        ctx.yield_(2)
        ctx.item_click(UNSAVED + button)
        ctx.yield_(2)

    bench.run(answers)
    assert asked == [False]
    assert bench.state.wants_to_close is closes
    assert f"kp: {kp}," in (here / "scene.yaml").read_text()


def test_save_on_closing_that_fails_stays_open(here: Path) -> None:
    bench = Bench.on_file(here / "scene.yaml", SWINGS)

    def answers(ctx: Any) -> None:
        _edit(bench)
        (here / "scene.yaml").write_text("mjrig: 1\n")
        press(ctx, KEY.mod_ctrl, KEY.q)
        ctx.item_click(UNSAVED + "Save")
        ctx.yield_(2)

    bench.run(answers)
    assert not bench.state.wants_to_close
    assert bench.state.session.is_dirty


def test_saving_an_unnamed_scene_on_closing_asks_where_to_and_closes_then(here: Path) -> None:
    bench = Bench.on(SWINGS)

    def answers(ctx: Any) -> None:
        _edit(bench)
        press(ctx, KEY.mod_ctrl, KEY.q)
        ctx.item_click(UNSAVED + "Save")
        ctx.yield_(2)
        assert not bench.state.wants_to_close
        ctx.item_input_value(CHOOSE + "##path", str(here / "a.yaml"))
        ctx.yield_(2)

    bench.run(answers)
    assert bench.state.wants_to_close
    assert "kp: 33," in (here / "a.yaml").read_text()


def test_keys_wait_while_a_question_is_open() -> None:
    bench = Bench.on(SWINGS)

    def types(ctx: Any) -> None:
        _edit(bench)
        press(ctx, KEY.mod_ctrl, KEY.q)
        press(ctx, KEY.space)
        press(ctx, KEY.mod_ctrl, KEY.z)
        ctx.item_click(UNSAVED + "Cancel")
        ctx.yield_(2)
        press(ctx, KEY.mod_ctrl, KEY.z)

    bench.run(types)
    assert not bench.state.simulation.playing
    assert not bench.state.session.is_dirty


def test_a_question_that_another_one_replaced_is_not_open_any_more() -> None:
    bench = Bench.on(SWINGS)
    window = bench.window

    def asks(ctx: Any) -> None:
        window.keep.ask([Edit(("seed",), 0, 1)])
        ctx.yield_(2)
        _edit(bench)
        window.may_close()
        ctx.yield_(3)
        ctx.item_click(UNSAVED + "Cancel")
        ctx.yield_(3)
        press(ctx, KEY.mod_ctrl, KEY.z)

    bench.run(asks)
    assert not window.keep.is_open
    assert not window.files.unsaved.is_open
    assert not bench.state.session.is_dirty


# Open -------------------------------------------------------------------------------------------


def test_another_scene_is_opened_after_the_question(here: Path) -> None:
    bench = Bench.on_file(here / "scene.yaml", SWINGS)
    (here / "box.xml").write_text(BOX)
    (here / "boxes.yaml").write_text(BOXES)

    def opens(ctx: Any) -> None:
        _edit(bench)
        press(ctx, KEY.mod_ctrl, KEY.o)
        ctx.item_click(CHOOSE + "**/boxes.yaml")
        ctx.item_click(CHOOSE + "###go")
        ctx.yield_(2)
        ctx.item_click(UNSAVED + "Don't save")
        ctx.yield_(4)

    bench.run(opens)
    assert bench.actors == ["box"]
    assert bench.state.title == "boxes.yaml - mjrig"
    assert list(bench.state.simulation.world.articulations) == ["box"]
    assert bench.drawing.actor_of(1) == "box"
    assert not bench.problems


def test_a_scene_that_cannot_be_opened_leaves_this_one(here: Path) -> None:
    bench = Bench.on(SWINGS)
    (here / "broken.yaml").write_text("mjrig: 1\nactors:\n  - {name: a, model: gone.xml}\n")
    world = bench.state.simulation.world
    for name in ("broken.yaml", "gone.yaml", "picture.png"):
        bench.window.files.open_path(here / name)
    assert bench.actors == ["left", "right"]
    assert bench.state.simulation.world is world
    broken, gone, picture = bench.problems
    assert "gone.xml" in broken
    assert "gone.yaml" in gone
    assert mentions(picture, "cannot be opened; the … .yaml")


def test_new_is_an_empty_scene() -> None:
    bench = Bench.on(SWINGS)

    def begins(ctx: Any) -> None:
        menu(ctx, "File/New")
        ctx.yield_(3)

    bench.run(begins)
    assert bench.actors == []
    assert not bench.problems


def test_a_folder_lists_what_can_be_opened(here: Path) -> None:
    for name in ("b.yaml", "a.XML", "notes.txt", ".hidden.yaml"):
        (here / name).write_text("")
    (here / "sub").mkdir()
    (here / ".git").mkdir()
    names = [label for label, _ in listing(here, (".yaml", ".xml"))]
    assert [n for n in names if n != ".hidden.yaml"] == ["..", "sub/", "a.XML", "b.yaml"]
    assert listing(here / "gone", ()) == [("..", here)]


# Drops that are refused -------------------------------------------------------------------------


def test_why_a_dropped_file_was_refused_is_shown_in_full_until_it_is_closed(here: Path) -> None:
    bench = Bench.on(SWINGS)
    long = "a_long_name_" * 15
    (here / f"{long}.xml").write_text("<mujoco><worldbody><geom/></worldbody></mujoco>")
    (here / f"{long}.txt").write_text("no scene")
    seen: list[Any] = []
    refusals = bench.window.viewport.refusals

    def drops(ctx: Any) -> None:
        x, y, width, height = bench.window.viewport.rect
        at = (x + width / 2, y + 0.8 * height)
        for suffix in ("xml", "txt"):
            bench.window.files_dropped([here / f"{long}.{suffix}"], at)
            ctx.yield_(3)
            seen.append(list(refusals.reasons))
            wide = ctx.item_info("//Viewport/**/Close").rect_full.max.x
            seen.append(wide < x + width)
        ctx.item_click("//Viewport/**/Close")
        ctx.yield_(2)

    bench.run(drops)
    assert len(bench.problems) == 2 and all(long in problem for problem in bench.problems)
    assert seen == [[bench.problems[0]], True, [bench.problems[1]], True]
    assert not refusals.reasons


# Stop -------------------------------------------------------------------------------------------


def test_stop_asks_what_to_keep_and_drops_the_rest_in_one_edit() -> None:
    bench = Bench.on(SWINGS)
    bar = "//##Top_2123243/"

    def plays(ctx: Any) -> None:
        ctx.item_click(bar + "###play")
        bench.state.session.set("left.PDController.kp", 50)
        bench.state.session.set("right.PDController.kp", 60)
        ctx.item_click(bar + "Stop")
        ctx.yield_(2)
        ctx.set_ref("//Keep changes made while playing?")
        ctx.item_uncheck("0/left.PDController.kp: 10 → 50")
        ctx.item_click("Keep checked")
        ctx.yield_(2)

    bench.run(plays)
    assert bench.state.scene.to_text() == SWINGS.replace("kp: 20,", "kp: 60,")
    assert bench.entries[-1] == "Discard changes made while playing"
    assert not bench.state.simulation.playing
    assert bench.state.simulation.frame.steps == 0
    assert bench.state.simulation.world["left"].controllers[0].gains()["kp"][0] == 10
    bench.state.session.undo()
    assert "kp: 50," in bench.state.scene.to_text()


LIMBS = """<mujoco><worldbody><body><joint name="a"/><geom size=".1"/><body pos="0 0 1">
<joint name="b"/><geom size=".1"/><body pos="0 0 1"><joint name="c"/><geom size=".1"/></body></body>
</body></worldbody><actuator><motor name="a" joint="a"/><motor name="b" joint="b"/>
<motor name="c" joint="c"/></actuator></mujoco>"""
LIMB = """\
mjrig: 1
actors:
  - name: limb
    model: limb.xml
    components:
      - {type: PDController, kp: 10, kv: {a: 1, default: 2}}
"""


def test_stop_lists_gains_by_actuator_and_only_what_is_not_saved(here: Path) -> None:
    (here / "limb.xml").write_text(LIMBS)
    bench = Bench.on_file(here / "scene.yaml", LIMB)
    kp, kv = "limb.PDController.kp", "limb.PDController.kv"
    bar, state = "//##Top_2123243/", bench.state
    seen: list[str] = []

    def plays(ctx: Any) -> None:
        state.session.set(kv, 3)  # before
        ctx.item_click(bar + "###play")
        state.session.set("limb.PDController.torque_limit", 5)
        state.session.save()
        state.session.set(kp, {"a": 20, "b": 30, "default": 10})
        ctx.item_click(bar + "###play")
        state.session.set("limb.pose.position", [0, 0, 1])  # paused
        ctx.item_click(bar + "Stop")
        ctx.yield_(2)
        seen.extend(line.change.text for line in bench.window.keep._lines)
        ctx.set_ref("//Keep changes made while playing?")
        ctx.item_uncheck(f"0/{kp} of a: 10 → 20")
        ctx.item_click("Keep checked")
        ctx.yield_(2)

    bench.run(plays)
    assert seen == [f"{kp} of a: 10 → 20", f"{kp} of b: 10 → 30"]
    gains = state.simulation.world["limb"].controllers[0].gains()
    assert gains["kp"].tolist() == [10, 30, 10] and gains["kv"].tolist() == [3, 3, 3]
    assert gains["torque_limit"].tolist() == [5, 5, 5]
    assert state.scene["limb"].pose is not None


def test_gains_that_all_change_alike_are_one_line(here: Path) -> None:
    (here / "limb.xml").write_text(LIMBS)
    session = Bench.on_file(here / "scene.yaml", LIMB).state.session
    kp, kv = "limb.PDController.kp", "limb.PDController.kv"
    session.play()
    session.set(kp, 30)
    session.set(kv, {"a": 5, "default": 6})
    made = session.stop()
    rows = session.simulation.call(lambda world: gain_rows(world, session.scene))
    assert [change.text for change in kept_changes(made, session.scene, rows)] == [
        f"{kp}: 10 → 30",
        f"{kv} of a: 1 → 5",
        f"{kv} of b: 2 → 6",
        f"{kv} of c: 2 → 6",
    ]


def test_discard_takes_all_back_to_the_byte(here: Path) -> None:
    (here / "limb.xml").write_text(LIMBS)
    bench = Bench.on_file(here / "scene.yaml", LIMB)

    def plays(ctx: Any) -> None:
        ctx.item_click("//##Top_2123243/###play")
        bench.state.session.set("limb.PDController.kp", {"a": 20, "b": 30, "default": 10})
        bench.state.session.set("limb.pose.position", [0, 0, 1])
        ctx.item_click("//##Top_2123243/Stop")
        ctx.yield_(2)
        ctx.item_click("//Keep changes made while playing?/Discard all")
        ctx.yield_(2)

    bench.run(plays)
    assert bench.state.scene.to_text() == LIMB
    bench.state.session.undo()
    assert "a: 20" in bench.state.scene.to_text()


def test_stop_without_edits_asks_nothing() -> None:
    bench = Bench.on(SWINGS)
    bench.state.session.play()
    bench.window.stop()
    assert not bench.window.keep.is_open


# Recovery ---------------------------------------------------------------------------------------


def _left_behind(here: Path, text: str, path: Path | None) -> None:
    """What an editor leaves that was killed."""
    scene = Scene.parse(text, here)
    autosave = Autosave(path)
    assert autosave.tick(scene, is_dirty=True)
    file = autosave._file
    file.write_text(file.read_text().replace('"pid": ', '"pid": 9999'))


def test_a_killed_session_is_offered_and_comes_back_unsaved(here: Path) -> None:
    edited = SWINGS.replace("kp: 10,", "kp: 44,")
    bench = Bench.on("mjrig: 1\n")
    (here / "scene.yaml").write_text(SWINGS)
    _left_behind(here, edited, here / "scene.yaml")

    def recovers(ctx: Any) -> None:
        bench.window.files.offer(unsaved())
        ctx.yield_(2)
        ctx.item_click("//Recover unsaved changes?/0/Recover")
        ctx.yield_(3)

    bench.run(recovers)
    assert bench.state.scene.to_text() == edited
    assert bench.state.scene.path == here / "scene.yaml"
    assert bench.state.session.is_dirty
    assert unsaved() == []
    bench.state.session.undo()
    assert bench.state.scene.to_text() == SWINGS


def test_a_recovered_scene_that_had_no_file_is_unsaved_and_finds_its_models(here: Path) -> None:
    folder = here / "elsewhere"
    folder.mkdir()
    (folder / "box.xml").write_text(BOX)
    _left_behind(folder, BOXES, None)
    bench = Bench.on("mjrig: 1\n")
    (left,) = unsaved()
    bench.window.files._recover(left)
    assert bench.actors == ["box"]
    assert bench.state.session.is_dirty


def test_discard_forgets_and_later_does_not(here: Path) -> None:
    _left_behind(here, SWINGS, here / "a.yaml")
    bench = Bench.on("mjrig: 1\n")

    def waits(ctx: Any) -> None:
        bench.window.files.offer(unsaved())
        ctx.yield_(2)
        ctx.item_click("//Recover unsaved changes?/Later")
        ctx.yield_(2)
        assert len(unsaved()) == 1
        bench.window.files.offer(unsaved())
        ctx.yield_(2)
        ctx.item_click("//Recover unsaved changes?/0/Discard")
        ctx.yield_(3)

    bench.run(waits)
    assert unsaved() == []
    assert not bench.window.files.recover.is_open


def test_one_that_cannot_be_recovered_stays_for_later(here: Path) -> None:
    _left_behind(here, BOXES, here / "a.yaml")  # its model is gone
    bench = Bench.on(SWINGS)

    def recovers(ctx: Any) -> None:
        bench.window.files.offer(unsaved())
        ctx.yield_(2)
        ctx.item_click("//Recover unsaved changes?/0/Recover")
        ctx.yield_(3)

    bench.run(recovers)
    assert "box.xml" in bench.problems[0]
    assert len(unsaved()) == 1


# Pictures ---------------------------------------------------------------------------------------


def test_a_picture_of_the_viewport(here: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    bench = Bench.on(SWINGS)

    def takes(ctx: Any) -> None:
        press(ctx, KEY.f12)
        menu(ctx, "File/Save picture of the viewport")

    bench.run(takes)
    pictures = sorted(here.glob("mjrig-*.png"))
    assert len(pictures) == 2
    with image.open(pictures[0]) as picture:
        assert picture.size[0] > 100
    assert not bench.problems


def test_a_video_of_the_viewport(here: Path) -> None:
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    bench = Bench.on(SWINGS)
    bench.window.quality.fixed = 0.75
    scales: list[float | None] = []

    def films(ctx: Any) -> None:
        ctx.yield_(2)
        menu(ctx, "File/Start video")
        for _ in range(12):
            bench.state.simulation.step_once(34)
            ctx.yield_()
        menu(ctx, "File/Stop video")
        scales.append(bench.window.quality.fixed)

    bench.run(films)
    assert not bench.problems
    (video,) = here.glob("mjrig-*.mp4")
    assert scales == [0.75]  # as it was chosen before
    frames, _ = ffmpeg.count_frames_and_secs(str(video))
    assert 11 <= frames <= 14


def test_a_video_that_breaks_off_is_told_of_once(here: Path) -> None:
    pytest.importorskip("imageio_ffmpeg")
    bench = Bench.on(SWINGS)

    def breaks(ctx: Any) -> None:
        ctx.yield_(2)
        bench.window.captures.toggle_video()
        video = bench.window.captures._video
        assert video is not None

        def fail(picture: Any, time: float, *, is_running: bool) -> None:
            raise OSError("no space left")

        video.add = fail  # type: ignore[method-assign]
        ctx.yield_(5)
        assert bench.window.captures._video is None

    bench.run(breaks)
    assert bench.problems == ["OSError: no space left"]


def test_without_the_extra_a_video_says_what_to_install(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mjrig.editor.window.capture.find_spec", lambda name: None)
    bench = Bench.on(SWINGS)
    bench.window.viewport.follow()
    bench.window.captures.toggle_video()
    bench.window.captures.take_picture()
    assert "mjrig[video]" in bench.problems[0]
    assert "mjrig[editor]" in bench.problems[1]
    assert bench.window.quality.fixed is None


def test_nothing_is_filmed_before_the_viewport_was_seen(here: Path) -> None:
    bench = Bench.on(SWINGS)
    bench.window.captures.toggle_video()
    bench.window.captures.take_picture()
    assert all(mentions(text, "the viewport has not …") for text in bench.said)
    assert len(bench.said) == 2


# Scenes of every kind ---------------------------------------------------------------------------


def test_an_empty_scene_is_edited_until_there_is_a_robot_in_it(here: Path) -> None:
    (here / "box.xml").write_text(BOX)
    bench = Bench.on("mjrig: 1\n", here)

    def drops(ctx: Any) -> None:
        ctx.yield_(3)
        ctx.item_click("//##Top_2123243/###play")
        bench.state.simulation.advance(5)
        press(ctx, KEY.c)
        press(ctx, KEY.home)
        press(ctx, KEY.delete)
        x, y, width, height = bench.window.viewport.rect
        bench.window.files_dropped([here / "box.xml"], (x + width / 2, y + 0.9 * height))
        ctx.yield_(4)
        bench.state.simulation.advance(5)
        ctx.yield_(2)

    bench.run(drops)
    assert not bench.problems
    assert bench.actors == ["box"]
    assert bench.drawing.actor_of(1) == "box"
    assert bench.entries == ["Add box"]


PROPS = """
mjrig: 1
actors:
  - {name: floor, prop: {type: GroundProp}}
  - {name: crate, prop: {type: BoxProp}, pose: {position: [0, 0, 1]}}
"""


def test_a_scene_with_only_props_plays_and_is_edited() -> None:
    bench = Bench.on(PROPS)

    def works(ctx: Any) -> None:
        ctx.yield_(3)
        bench.state.simulation.step_once(50)
        ctx.item_click("//Hierarchy/###crate")
        press(ctx, KEY.mod_ctrl, KEY.d)
        ctx.yield_(3)
        bench.state.simulation.step_once(50)
        ctx.yield_(2)

    bench.run(works)
    assert not bench.problems
    assert bench.actors == ["floor", "crate", "crate_2"]


def test_a_compiled_model_is_shown_and_refuses_what_it_cannot(here: Path) -> None:
    model = mujoco.MjModel.from_xml_string(BOX)
    mujoco.mj_saveModel(model, str(here / "box.mjb"))
    (here / "box.xml").write_text(BOX)
    bench = Bench.on("mjrig: 1\nactors:\n  - {name: box, model: box.mjb}\n", here)
    world = bench.state.simulation.world

    def works(ctx: Any) -> None:
        ctx.yield_(3)
        bench.state.simulation.step_once(5)
        x, y, width, height = bench.window.viewport.rect
        bench.window.files_dropped([here / "box.xml"], (x + width / 2, y + 0.9 * height))
        bench.state.selection.only("box")
        press(ctx, KEY.mod_ctrl, KEY.d)
        ctx.yield_(3)

    bench.run(works)
    assert len(bench.problems) == 2
    assert all(mentions(text, "an .mjb must be the …") for text in bench.problems)
    assert bench.actors == ["box"]
    assert bench.state.simulation.world is world
    assert bench.drawing.actor_of(1) == "box"


def _chain(count: int) -> str:
    bodies = "".join(
        f'<body name="b{i}" pos="0 0 .1"><joint name="j{i}" axis="0 1 0"/><geom size=".02"/>'
        for i in range(count)
    )
    motors = "".join(f'<motor name="m{i}" joint="j{i}"/>' for i in range(count))
    return (
        f'<mujoco><option gravity="0 0 0"/><default><geom contype="0" conaffinity="0"/></default>'
        f"<worldbody>{bodies}{'</body>' * count}</worldbody><actuator>{motors}</actuator></mujoco>"
    )


def test_sixty_four_actuators(here: Path) -> None:
    (here / "chain.xml").write_text(_chain(64))
    text = "mjrig: 1\nactors:\n  - name: chain\n    model: chain.xml\n"
    bench = Bench.on(f"{text}    components:\n      - {{type: PDController, kp: 5}}\n", here)
    listed: list[bool] = []

    def works(ctx: Any) -> None:
        bench.state.selection.only("chain")
        ctx.yield_(3)
        ctx.item_open("//Hierarchy/###chain")
        ctx.item_open("//Hierarchy/###chain/Actuators (64)##chain")
        ctx.yield_(2)
        listed.append(
            ctx.item_exists("//Hierarchy/###chain/Actuators (64)##chain/###chain.actuator:m63")
        )
        bench.state.session.set("chain.PDController.kp", {"j[0-9]": 7, "default": 3})
        bench.state.simulation.step_once(5)
        ctx.yield_(2)

    bench.run(works)
    assert not bench.problems
    assert listed == [True]
    gains = bench.state.simulation.world["chain"].controllers[0].gains()["kp"]
    assert np.array_equal(gains, [7.0] * 10 + [3.0] * 54)


# Files from the desktop -------------------------------------------------------------------------


def test_a_scene_dropped_from_the_desktop_is_opened_after_the_question(here: Path) -> None:
    bench = Bench.on(SWINGS)
    (here / "empty.yaml").write_text("mjrig: 1\n")

    def drops(ctx: Any) -> None:
        _edit(bench)
        ctx.yield_(2)
        bench.window.files_dropped([here / "empty.yaml"], (5.0, 5.0))
        ctx.yield_(3)
        assert bench.actors == ["left", "right"]
        ctx.item_click(UNSAVED + "Don't save")
        ctx.yield_(3)

    bench.run(drops)
    assert bench.actors == []
    assert bench.state.scene.path == here / "empty.yaml"


def test_a_file_of_no_use_says_why(here: Path) -> None:
    bench = Bench.on(SWINGS)
    (here / "photo.png").write_bytes(b"\x89PNG")

    def drops(ctx: Any) -> None:
        ctx.yield_(2)
        x, y, width, height = bench.window.viewport.rect
        bench.window.files_dropped([here / "photo.png"], (x + width / 2, y + height / 2))

    bench.run(drops)
    assert len(bench.problems) == 1
    assert "photo.png" in bench.problems[0]


# The thread -------------------------------------------------------------------------------------


def test_a_window_on_a_thread_that_plays(here: Path) -> None:
    scene = Scene.parse(SWINGS)
    simulation = SimThread(World(scene, "python"))
    state = EditorState(Session(scene, simulation))
    window = Window(state, NullView)
    simulation.start()
    try:

        def plays(ctx: Any) -> None:
            point_at_viewport(ctx)
            press(ctx, KEY.space)
            wait_until(ctx, lambda: simulation.frame.time >= 0.05)
            for i in range(5):
                state.session.set("left.pose.position", [i, 0, 0])
                state.session.set("left.PDController.kp", 30 + i)
                ctx.yield_(3)
            press(ctx, KEY.space)

        run_ui_tests(window.app, plays)
    finally:
        simulation.stop()
    assert not [line.text for line in state.console.lines if line.level == "error"]
    assert simulation.world["left"].controllers[0].gains()["kp"][0] == 34.0
    assert simulation.fault is None


# A path that does not work ------------------------------------------------------------------------


def test_saving_into_a_missing_folder_keeps_the_path_and_offers_to_make_it(here: Path) -> None:
    bench = Bench.on(SWINGS)
    target = here / "robots" / "new" / "swing.yaml"
    seen: list[Any] = []

    def saves(ctx: Any) -> None:
        menu(ctx, "File/Save as...")
        ctx.item_input(CHOOSE + "##path")
        ctx.key_chars_replace(str(target))
        press(ctx, KEY.enter)  # making a folder is clicked, not entered
        ctx.yield_(2)
        seen.append((bench.window.choose.is_open, bench.window.choose._text, target.exists()))
        ctx.item_click(CHOOSE + "###go")
        ctx.yield_(2)

    bench.run(saves)
    assert seen == [(True, str(target), False)]
    assert bench.state.scene.path == target and target.is_file()
    assert not bench.window.choose.is_open and not bench.problems


def test_a_save_that_fails_keeps_the_dialog_and_says_why(here: Path) -> None:
    bench = Bench.on(SWINGS)
    (here / "file").write_text("no folder")
    seen: list[Any] = []

    def saves(ctx: Any) -> None:
        menu(ctx, "File/Save as...")
        for typed in (here / "file" / "x.yaml", here / "robot.xml"):
            ctx.item_input(CHOOSE + "##path")
            ctx.key_chars_replace(str(typed))
            ctx.item_click(CHOOSE + "###go")
            ctx.yield_(2)
            choose = bench.window.choose
            seen.append((choose.is_open, choose._text == str(typed), choose._problem))

    bench.run(saves)
    assert [line[:2] for line in seen] == [(True, True)] * 2
    assert "cannot be made" in seen[0][2] or "cannot be written" in seen[0][2]
    assert mentions(seen[1][2], "a scene is written …")
    assert bench.state.scene.path is None


def test_opening_a_file_that_is_not_there_keeps_what_was_typed(here: Path) -> None:
    bench = Bench.on(SWINGS)
    (here / "swings.yaml").write_text(SWINGS)
    seen: list[Any] = []

    def opens(ctx: Any) -> None:
        menu(ctx, "File/Open...")
        ctx.item_input(CHOOSE + "##path")
        ctx.key_chars_replace(str(here / "swing.yaml"))
        press(ctx, KEY.enter)
        ctx.yield_(2)
        seen.append((bench.window.choose.is_open, bench.window.choose._problem))

    bench.run(opens)
    [(is_open, problem)] = seen
    assert is_open and problem.endswith("did you mean 'swings.yaml'?")


def test_a_scene_around_a_model_is_proposed_beside_it(here: Path) -> None:
    folder = here / "robots" / "arm"
    folder.mkdir(parents=True)
    (folder / "box.xml").write_text(BOX)
    (folder / "box.yaml").write_text("mjrig: 1\n")
    bench = Bench(open_file(Path("robots/arm/box.xml")))
    seen: list[str] = []

    def saves(ctx: Any) -> None:
        menu(ctx, "File/Save")
        seen.append(bench.window.choose._text)
        press(ctx, KEY.enter)
        ctx.yield_(2)

    bench.run(saves)
    assert seen == [str(folder / "box-2.yaml")]  # nothing is replaced
    assert "model: box.xml" in (folder / "box-2.yaml").read_text()
