"""Recording from the window: by button, menu and key; whole files whatever happens."""

from pathlib import Path
from typing import Any

import pytest
from imgui_bundle import imgui

from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.data.recording.readers import read_recording
from mjrig.editor.session.recording import RunRecording
from mjrig.editor.session.session import Session
from mjrig.editor.session.simulation import SimThread
from mjrig.editor.session.state import EditorState
from mjrig.lab.replay.runner import replay
from tests.editor.ui_driver import editor_state
from tests.editor.windows import SWINGS, Bench, menu, press
from tests.wording import matches

pytest.importorskip("h5py")
KEY = imgui.Key
BAR = "//##Top_2123243/"


def files(folder: Path) -> list[Path]:
    return sorted((folder / "recordings").glob("*.h5"))


def test_the_button_records_into_a_folder_beside_the_scene(tmp_path: Path) -> None:
    bench = Bench.on_file(tmp_path / "swings.yaml", SWINGS)
    seen: list[Any] = []

    def records(ctx: Any) -> None:
        ctx.item_click(BAR + "###record")
        seen.append(bench.window.recording.is_on)
        bench.state.simulation.step_once(100)
        seen.append(round(bench.window.recording.duration, 6))
        ctx.item_click(BAR + "###record")
        seen.append(bench.window.recording.is_on)

    bench.run(records)
    (path,) = files(tmp_path)
    assert seen == [True, pytest.approx(100 * bench.state.simulation.world.timestep), False]
    assert path.name.startswith("swings-2")
    assert bench.said == [f"recording to {path}", f"recorded 100 steps: {path}"]
    assert read_recording(path).steps == 100


def test_what_the_button_records_in_the_middle_of_a_run_replays_bit_exactly(tmp_path: Path) -> None:
    """The components go on from what they remember when the button is pressed."""
    law = "{type: PIDController, kp: 10, kv: 0.5, ki: 40, delay: {steps: 3}}"
    text = SWINGS.replace("{type: PDController, kp: 10, kv: 0.5}", law)
    bench = Bench.on_file(tmp_path / "swings.yaml", text)

    def records(ctx: Any) -> None:
        bench.state.simulation.world["left"].set_targets(0.7)
        bench.state.simulation.step_once(70)
        ctx.item_click(BAR + "###record")
        bench.state.simulation.step_once(100)
        ctx.item_click(BAR + "###record")

    bench.run(records)
    (path,) = files(tmp_path)
    replayed = replay(path, World(Scene.load(tmp_path / "swings.yaml"), "python"))
    assert read_recording(path).began_mid_run
    assert replayed.bit_exact, replayed


def test_keys_and_the_menu_record_too(tmp_path: Path) -> None:
    bench = Bench.on_file(tmp_path / "swings.yaml", SWINGS)
    chosen = tmp_path / "my take.h5"

    def records(ctx: Any) -> None:
        press(ctx, KEY.mod_ctrl, KEY.r)
        bench.state.simulation.step_once(3)
        press(ctx, KEY.mod_ctrl, KEY.r)
        menu(ctx, "File/Record to...")
        ctx.item_input("//Choose a file/##path")
        ctx.key_chars_replace(str(chosen))
        ctx.item_click("//Choose a file/###go")
        bench.state.simulation.step_once(5)
        menu(ctx, "File/Stop recording")

    bench.run(records)
    assert [read_recording(p).steps for p in (*files(tmp_path), chosen)] == [3, 5]
    assert not bench.problems


def test_an_edit_that_builds_the_world_anew_ends_the_recording(tmp_path: Path) -> None:
    bench = Bench.on_file(tmp_path / "swings.yaml", SWINGS)
    bench.window.recording.start(tmp_path / "a.h5")
    bench.state.simulation.step_once(10)
    bench.state.session.set("left.PDController.kp", 33)  # a live edit goes on
    bench.state.simulation.step_once(10)
    bench.state.session.set("left.pose.position", [0, 0, 1])
    assert not bench.window.recording.is_on
    assert matches(bench.said[-1], f"the recording ended because … 20 … {tmp_path / 'a.h5'}")
    recorded = read_recording(tmp_path / "a.h5")
    assert recorded.steps == 20
    assert [change.step for change in recorded.actors["left"].gain_changes] == [10]


def test_stop_and_closing_the_window_end_it(tmp_path: Path) -> None:
    bench = Bench.on_file(tmp_path / "swings.yaml", SWINGS)
    bench.window.recording.start(tmp_path / "a.h5")
    bench.state.simulation.step_once(4)
    bench.window.stop()
    assert read_recording(tmp_path / "a.h5").steps == 4
    bench.window.recording.start(tmp_path / "b.h5")

    def steps(ctx: Any) -> None:
        bench.state.simulation.step_once(6)

    bench.run(steps)  # the window is closed at its end
    assert read_recording(tmp_path / "b.h5").steps == 6
    assert not bench.problems


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    state = editor_state(SWINGS)
    recording = RunRecording(state)
    (tmp_path / "recordings").write_text("no folder")
    inside = tmp_path / "recordings" / "a.h5"
    assert not state.attempt(lambda: recording.start(inside))
    assert state.console.lines[-1].text == (
        f"{tmp_path / 'recordings'}: cannot be made: File exists"
    )
    assert not recording.is_on


def test_it_records_on_the_thread_of_the_simulation(tmp_path: Path) -> None:
    scene = Scene.parse(SWINGS)
    simulation = SimThread(World(scene, "python"))
    state = EditorState(Session(scene, simulation))
    recording = RunRecording(state)
    simulation.start()
    try:
        recording.start(tmp_path / "a.h5")
        state.session.play()
        while simulation.frame.steps < 20:
            pass
        recording.stop()
        simulation.pause()
    finally:
        simulation.stop()
    assert read_recording(tmp_path / "a.h5").steps >= 20
