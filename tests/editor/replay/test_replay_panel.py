"""The replay panel in the window: drop, scrub, compare, report."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.data.recording.recorder import Recorder
from mjrig.editor.assets.drops import drop_files
from mjrig.editor.replay.recorded_plot import KINDS, recorded_curves, unit_of
from mjrig.editor.session.job_runner import Finished
from mjrig.lab.replay.repairs import policy_file
from mjrig.lab.report.content import ReportTable
from tests.editor.ui_driver import wait_until
from tests.editor.windows import SWINGS, Bench
from tests.places import ASSETS, SCENES

pytest.importorskip("h5py")
PANEL = "//Replay/"
#: Comparisons run in a process of their own, which cannot import the tests.
SCENE = SWINGS.replace("package:tests.editor/", "package:mjrig.assets/pendulum/")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A window on the scene of `take.h5`, with one gain changed since."""
    bench = Bench.on_file(tmp_path / "swings.yaml", SCENE)
    world = World(Scene.load(tmp_path / "swings.yaml"), "python")
    with Recorder(world, tmp_path / "take.h5"):
        for robot in world.articulations.values():
            robot.setpoints.values[0] = 0.4
        world.step(300)
    bench.state.session.set("right.PDController.kp", 24)
    return bench


def fixed_and_undone(ctx: Any, bench: Bench) -> tuple[str, str]:
    """The scene after the first finding was fixed, and after that was undone."""
    ctx.item_click(PANEL + "$$0/###fix0")
    fixed = bench.state.scene.to_text()
    bench.state.session.undo()
    ctx.yield_(2)
    return fixed, bench.state.scene.to_text()


def test_a_dropped_recording_is_scrubbed_and_compared(bench: Bench, tmp_path: Path) -> None:
    panel, replaying = bench.window.replay, bench.window.replay.replaying
    seen: dict[str, Any] = {}
    pages: list[str] = []
    fixed: list[str] = []
    panel.show_page = pages.append

    def works(ctx: Any) -> None:
        drop_files(bench.state, [tmp_path / "take.h5"])
        ctx.yield_(2)
        wait_until(ctx, lambda: replaying.recording is not None)
        ctx.yield_(3)
        ctx.item_input_value(PANEL + "##scrub", 0.3)
        seen["time"] = replaying.time
        ctx.item_click(PANEL + "##mode")
        ctx.item_click("//##Combo_00/targets")
        ctx.item_click(PANEL + "##rate")
        ctx.item_click("//##Combo_00/0.25x")
        ctx.item_click(PANEL + "loop")
        ctx.item_click(PANEL + "Step")
        seen["set"] = replaying.mode, replaying.rate, replaying.loop
        seen["stepped"] = bench.state.simulation.frame.steps
        ctx.item_click(PANEL + "###compare")
        seen["runs"] = panel.runner.job is not None
        wait_until(ctx, lambda: not panel.runner.is_busy)
        ctx.yield_(3)
        fixed.extend(fixed_and_undone(ctx, bench))
        ctx.item_click(PANEL + "Open report")
        ctx.item_click(PANEL + "Close")
        seen["closed"] = replaying.path

    answers: list[Any] = []
    take = panel._take

    def keep(finished: Finished) -> None:
        take(finished)
        answers.append(panel.answer)

    panel._take = keep  # type: ignore[method-assign]
    bench.run(works)
    assert seen["time"] == pytest.approx(0.3)
    assert seen["set"] == ("targets", 0.25, True)
    assert (seen["stepped"], seen["runs"], seen["closed"]) == (1, True, None)
    (answer,) = answers
    assert answer.report.verdict == "differs"
    first = answer.diagnosis[0]
    assert (first.kind, first.where, first.here, first.expected) == ("kp", "swing", 24, 20)
    assert [
        s.rows[0][0] for s in answer.report.sections if isinstance(s, ReportTable) and s.rows
    ] == ["right/swing"]
    assert fixed[0] == SCENE
    assert fixed[1] == SCENE.replace("kp: 20", "kp: 24")
    assert len(bench.entries) == 2 and bench.entries[-1].startswith("Fix ")
    report = tmp_path / "take-report" / "report.html"
    assert pages == [report.as_uri()]
    assert json.loads(report.with_suffix(".json").read_text())["verdict"] == "differs"
    assert not bench.problems


def test_fix_repairs_a_copy_of_the_policy_file_and_undo_takes_it_back(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="networks need onnxruntime (extra `policy`)")
    said = yaml.safe_load((ASSETS / "walk" / "policy.yaml").read_text())
    said["network"] = str(ASSETS / "walk" / said["network"])
    said["action"]["scale"] = 0.4
    policy, fixed = tmp_path / "policy.yaml", tmp_path / "policy-fixed.yaml"
    policy.write_text(yaml.safe_dump(said))
    scene = Scene.load(SCENES / "quadruped_walk.yaml")
    actor = scene.actors[0]
    scene.set(f"{actor.name}.model", str((scene.base / str(actor.model)).resolve()))
    scene.set(f"{actor.name}.Policy.file", str(policy))
    before, seen = policy.read_text(), dict[str, Any]()
    bench = Bench.on_file(tmp_path / "walk.yaml", scene.to_text())
    panel = bench.window.replay

    def works(ctx: Any) -> None:
        bench.window.show_recording(ASSETS / "walk" / "walk.npz")
        wait_until(ctx, lambda: panel.replaying.recording is not None)
        ctx.yield_(3)
        ctx.item_click(PANEL + "##mode")
        ctx.item_click("//##Combo_00/policy")
        ctx.item_click(PANEL + "###compare")
        wait_until(ctx, lambda: not panel.runner.is_busy)
        ctx.yield_(3)
        seen["finding"] = panel.answer and panel.answer.diagnosis[0]
        ctx.item_click(PANEL + "$$0/###fix0")
        ctx.yield_(2)
        seen["used"] = policy_file(bench.state.scene)
        bench.state.session.undo()
        ctx.yield_(2)
        seen["undone"] = policy_file(bench.state.scene)

    bench.run(works)
    finding = seen["finding"]
    assert (finding.kind, finding.here, finding.expected) == ("action_scale", 0.4, 0.25)
    assert (seen["used"], seen["undone"]) == (fixed, policy)
    assert yaml.safe_load(fixed.read_text()) == {
        **said,
        "action": {**said["action"], "scale": 0.25},
    }
    assert policy.read_text() == before
    assert any(line.startswith("fixed: ") and "0.4 → 0.25" in line for line in bench.said)
    assert not bench.problems


def test_a_comparison_can_be_cancelled(bench: Bench, tmp_path: Path) -> None:
    panel = bench.window.replay

    def cancels(ctx: Any) -> None:
        panel.open(tmp_path / "take.h5")
        panel.replaying.wait()
        bench.window.show_recording(tmp_path / "take.h5")
        wait_until(ctx, lambda: panel.replaying.recording is not None)
        ctx.yield_(3)
        ctx.item_click(PANEL + "###compare")
        assert panel.runner.job is not None
        ctx.item_click(PANEL + "###compare")

    bench.run(cancels)
    assert panel.runner.job is None
    assert panel.answer is None
    assert not bench.problems


def test_a_comparison_that_cannot_be_made_says_why(bench: Bench, tmp_path: Path) -> None:
    panel = bench.window.replay
    panel.open(tmp_path / "take.h5")
    panel.replaying.wait()
    panel.replaying.path = tmp_path / "gone.h5"
    panel.compare()
    assert panel.runner.job is not None
    assert panel.runner.wait()
    panel.tick()
    panel.close()
    assert bench.problems == [f"{tmp_path / 'gone.h5'}: there is no such file"]
    assert panel.answer is None


def test_what_cannot_be_read_asks_for_hints(bench: Bench, tmp_path: Path) -> None:
    panel = bench.window.replay
    (tmp_path / "a.h5").write_bytes(b"text")

    def types(ctx: Any) -> None:
        bench.window.show_recording(tmp_path / "a.h5")
        wait_until(ctx, lambda: panel.replaying.problem)
        ctx.yield_(2)
        ctx.item_input(PANEL + "##hints")
        ctx.key_chars_replace("fps")
        ctx.item_click(PANEL + "Read again")

    bench.run(types)
    assert bench.problems[-1] == "fps: write KEY=VALUE, as in fps=50"


def test_its_scene_is_opened_after_asking(bench: Bench, tmp_path: Path) -> None:
    panel = bench.window.replay

    def opens(ctx: Any) -> None:
        bench.window.show_recording(tmp_path / "take.h5")
        wait_until(ctx, lambda: panel.replaying.recording is not None)
        ctx.yield_(2)
        ctx.item_click(PANEL + "Its scene")
        ctx.yield_(2)
        ctx.item_click("//Unsaved changes/Don't save")
        ctx.yield_(2)
        wait_until(ctx, lambda: panel.replaying.recording is not None)

    bench.run(opens)
    assert bench.state.scene.to_text() == SCENE
    assert not bench.problems


def test_recorded_signals_are_plotted_and_the_last_take_is_offered(tmp_path: Path) -> None:
    bench = Bench.on_file(tmp_path / "swings.yaml", SCENE)
    panel, state = bench.window.replay, bench.state
    plot, replaying = panel.signals, panel.replaying
    seen: dict[str, Any] = {}

    def records(ctx: Any) -> None:
        ctx.window_focus("//Replay")
        ctx.yield_(2)
        assert not ctx.item_exists(PANEL + "last")
        bench.window.recording.start()
        state.simulation.step_once(50)
        bench.window.recording.stop()
        ctx.yield_(2)
        ctx.item_click(PANEL + "last")
        wait_until(ctx, lambda: replaying.recording is not None)
        ctx.yield_(2)
        replaying.seek(0.02)
        for kind in KINDS:
            plot.kind = kind
            ctx.yield_(2)
            seen[kind] = plot.curves()
        state.selection.only("right.joint:swing")
        ctx.yield_(2)
        seen["chosen"] = plot.curves()
        seen["recording"] = replaying.recording

    bench.run(records)
    recording = seen["recording"]
    both = ["left.swing", "right.swing"]
    assert [seen[kind] for kind in KINDS] == [both] * len(KINDS)
    assert seen["chosen"] == ["right.swing"]
    recorded = recording.actors["left"]
    curve = recorded_curves(recording, "position")["left.swing"]
    assert np.array_equal(curve[1], recorded.qpos[:, 0])
    assert np.allclose(curve[0], recorded.time - recorded.time[0])
    assert unit_of(recording, "effort") == "N·m"
    assert bench.window.tune.tune.last_take() == recording.path
    assert not bench.problems
