"""Plots: what they show, and how the panel is used."""

import csv
import sys
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from imgui_bundle import imgui, implot

from mjrig.core.errors import BindingError, MissingExtraError
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.editor.panels.plot_export import clipped, free_name, write_csv, write_png
from mjrig.editor.panels.plot_model import PlotBoard
from mjrig.editor.panels.plots_panel import PlotsPanel, load_layout, save_layout, short_names
from mjrig.editor.session.simulation import SimThread, Simulation
from mjrig.editor.session.state import EditorState
from mjrig.editor.ui.panel import Panel
from tests.editor.ui_driver import app_with, editor_state, plain_imgui, run_ui_tests
from tests.worlds import arm, refused

SCENE = """
mjrig: 1
actors:
  - name: swing
    model: package:mjrig.assets/pendulum/pendulum.xml
    components:
      - {type: PDController, kp: 30}
"""


@pytest.fixture(autouse=True)
def own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test touches the settings of who runs it."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def board_on(scene: str = SCENE) -> PlotBoard:
    return PlotBoard(Simulation(World(Scene.parse(scene), "python")))


def first_signal(board: PlotBoard, kind: str = "position") -> str:
    return next(i.path for i in board.offered() if i.path.endswith(f".{kind}"))


# What is plotted --------------------------------------------------------------------------------


def test_a_signal_is_sampled_at_every_step_from_when_it_is_shown() -> None:
    board = board_on()
    simulation = board._simulation
    simulation.advance(5)
    plot = board.add_plot()
    path = first_signal(board)
    board.add(plot, path)
    positions = []
    for _ in range(7):
        simulation.advance(1)
        positions.append(float(simulation.world["swing"].position[0]))
    time, values = board.samples(plot)[path]
    np.testing.assert_array_equal(values, positions)
    np.testing.assert_allclose(np.diff(time), simulation.world.timestep)
    assert board.latest(plot) == {path: positions[-1]}


def test_a_property_of_all_actuators_becomes_one_signal_each(models: Path) -> None:
    scene = Scene.parse(
        "mjrig: 1\nactors:\n  - name: legs\n    model: legs.xml\n"
        "    components: [{type: PDController, kp: {left_hip: 7, default: 3}}]\n",
        models,
    )
    board = PlotBoard(Simulation(World(scene, "python")))
    plot = board.add_plot()
    names = board.add(plot, "legs.PDController.kp")
    assert names == [
        f"legs.PDController.kp[{j}]" for j in ("left_hip", "left_knee", "right_hip", "right_knee")
    ]
    board._simulation.advance(1)
    assert list(board.latest(plot).values()) == [7.0, 3.0, 3.0, 3.0]
    assert board.add(plot, "legs.PDController.default_kp") == ["legs.PDController.default_kp"]
    assert board.about["legs.PDController.kp[left_hip]"].unit


def test_a_property_that_the_running_world_has_not_is_read_from_the_scene() -> None:
    scene = Scene.parse(SCENE)
    scene.set("swing.pose.position", [0.1, 0.2, 0.3])
    board = PlotBoard(Simulation(World(scene, "python")))
    plot = board.add_plot()
    board.add(plot, "swing.pose.position")
    board._simulation.advance(1)
    assert list(board.latest(plot).values()) == [0.1, 0.2, 0.3]


def test_sensors_are_signals(tmp_path: Path) -> None:
    text = arm().replace(
        "<keyframe>",
        '<sensor><jointpos name="bend" joint="elbow"/><gyro name="imu" site="tip"/></sensor>'
        "<keyframe>",
    )
    (tmp_path / "arm.xml").write_text(text)
    scene = Scene.parse("mjrig: 1\nactors: [{name: a, model: arm.xml}]", tmp_path)
    board = PlotBoard(Simulation(World(scene, "python")))
    offered = {i.path: i.unit for i in board.offered() if ".sensor:" in i.path}
    assert offered == {
        "a.sensor:bend": "rad or m",
        **{f"a.sensor:imu[{i}]": "rad/s" for i in range(3)},
    }
    plot = board.add_plot()
    board.add(plot, "a.sensor:bend", "a.sensor:imu[1]")
    world = board._simulation.world
    world.data.qvel[:] = [0.5, 0.25]
    board._simulation.advance(3)
    assert board.latest(plot) == {
        "a.sensor:bend": world.data.sensor("a/bend").data[0],
        "a.sensor:imu[1]": world.data.sensor("a/imu").data[1],
    }
    assert board.latest(plot)["a.sensor:imu[1]"] != 0.0


def test_everything_that_is_offered_can_be_plotted() -> None:
    board = board_on()
    plot = board.add_plot()
    paths = [info.path for info in board.offered()]
    board.add(plot, *paths)
    board._simulation.advance(2)
    assert set(board.samples(plot)) == set(paths)
    assert all(s.shape == (2, 2) for s in board.samples(plot).values())


def test_a_signal_that_does_not_exist_is_refused_with_the_nearest() -> None:
    board = board_on()
    path = first_signal(board)
    with refused(BindingError, f"unknown signal '{path[:-1]}'; did you … '{path}'?"):
        board.add(board.add_plot(), path[:-1])


def test_what_no_plot_shows_is_not_sampled() -> None:
    board = board_on()
    one, two = board.add_plot(), board.add_plot()
    path = first_signal(board)
    board.add(one, path)
    board.add(two, path)
    board.remove(one, path)
    assert path in board._simulation.signals.watched
    board.remove_plot(two)
    assert not board._simulation.signals.watched


def test_a_robot_that_is_gone_leaves_its_curve_and_is_marked() -> None:
    state = editor_state(SCENE)
    board = PlotBoard(state.simulation)
    plot = board.add_plot()
    path = first_signal(board)
    board.add(plot, path)
    state.simulation.advance(3)
    with state.session.edit("Rename") as scene:
        scene.rename("swing", "other")
    assert board.is_silent(path)
    state.simulation.advance(3)
    assert board.samples(plot)[path].shape[1] == 3
    assert first_signal(board).startswith("other.")


# Pause, cursors ---------------------------------------------------------------------------------


def test_a_paused_plot_keeps_what_it_shows_through_steps_and_reset() -> None:
    board = board_on()
    plot, other = board.add_plot(), board.add_plot()
    path = first_signal(board)
    board.add(plot, path)
    board.add(other, path)
    board._simulation.advance(4)
    board.pause(plot)
    shown = board.samples(plot)[path].copy()
    board._simulation.advance(2)
    assert board.samples(other)[path].shape[1] == 6
    board._simulation.reset()
    np.testing.assert_array_equal(board.samples(plot)[path], shown)
    assert board.samples(other)[path].shape[1] == 0
    assert board.latest(plot)[path] == shown[1, -1]
    board.resume(plot)
    assert board.samples(plot)[path].shape[1] == 0


def test_cursors_read_the_samples_they_stand_on() -> None:
    board = board_on()
    plot = board.add_plot()
    path = first_signal(board, "velocity")
    board.add(plot, path)
    board._simulation.advance(10)
    time, values = board.samples(plot)[path]
    plot.cursors = (float(time[2]) + 1e-5, float(time[7]) - 1e-5)
    reading = board.readings(plot)[path]
    assert (reading.a, reading.b) == (values[2], values[7])
    assert reading.delta == values[7] - values[2]
    plot.cursors = (-1.0, float(time[3]))
    assert isnan(board.readings(plot)[path].a)


def test_after_going_back_in_time_the_curve_goes_on_from_there() -> None:
    board = board_on()
    simulation = board._simulation
    plot = board.add_plot()
    path = first_signal(board)
    board.add(plot, path)
    simulation.advance(200)
    full = board.samples(plot)[path].copy()
    reached = simulation.go_to(0.5 * simulation.world.time)
    simulation.advance(1)
    time = board.samples(plot)[path][0]
    assert time[-1] == pytest.approx(reached + simulation.world.timestep)
    assert np.all(np.diff(time) > 0.0)
    simulation.advance(full.shape[1] - time.size)
    np.testing.assert_array_equal(board.samples(plot)[path], full)  # the future is exact


def test_the_way_into_a_divergence_stays_in_the_plot() -> None:
    board = board_on()
    simulation = board._simulation
    plot = board.add_plot()
    path = first_signal(board, "velocity")
    board.add(plot, path)
    simulation.advance(20)
    simulation.world.data.qvel[:] = 1e12
    simulation.advance(20)
    assert simulation.fault is not None
    assert board.samples(plot)[path].shape[1] >= 20


def test_plots_are_read_while_a_thread_steps() -> None:
    simulation = SimThread(World(Scene.parse(SCENE), "python"))
    simulation.set_speed(float("inf"))
    board = PlotBoard(simulation)
    plot = board.add_plot()
    simulation.start()
    try:
        path = first_signal(board)
        board.add(plot, path)
        simulation.play()
        seen: set[int] = set()
        while len(seen) < 50:  # as many different moments of the writer
            time = board.samples(plot)[path][0]
            assert np.all(np.diff(time) > 0.0)
            seen.add(time.size)
        board.remove(plot, path)
    finally:
        simulation.stop()


# Layouts ----------------------------------------------------------------------------------------


def test_a_layout_is_kept_per_scene_and_survives_damage(tmp_path: Path) -> None:
    board = board_on()
    plot = board.add_plot()
    path = first_signal(board)
    board.add(plot, path)
    plot.set_window(2.5)
    plot.autoscale = False
    one, two = tmp_path / "ä b.yaml", tmp_path / "two.yaml"
    save_layout(one, board.layout())
    save_layout(None, board.layout())
    other = board_on()
    assert other.apply(load_layout(one)) == []
    assert other.layout() == board.layout()
    assert load_layout(two) == [] == load_layout(None)
    (tmp_path / "config" / "mjrig" / "plots.json").write_text("{ not json")
    assert load_layout(one) == []


def test_a_layout_tells_which_signals_are_missing() -> None:
    board = board_on()
    path = first_signal(board)
    layout = [{"signals": [path, "gone.x.position"], "window": 1e9}, "nonsense"]
    assert board.apply(layout) == ["gone.x.position"]
    assert [p.signals for p in board.plots] == [[path], []]
    assert board.plots[0].window == 30.0


# Export -----------------------------------------------------------------------------------------


def test_csv_has_one_column_per_signal_and_gaps_where_there_is_no_sample(tmp_path: Path) -> None:
    series = {
        "a.x": np.array([[0.0, 0.1, 0.2], [1.0, 1.0 / 3.0, 3.0]]),
        "b.y": np.array([[0.1, 0.3], [10.0, 11.0]]),
    }
    rows = write_csv(tmp_path / "ä.csv", series, {"a.x": "rad"})
    assert rows == 4
    with (tmp_path / "ä.csv").open(newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file))
    assert lines == [
        ["time [s]", "a.x [rad]", "b.y"],
        ["0.0", "1.0", ""],
        ["0.1", repr(1.0 / 3.0), "10.0"],
        ["0.2", "3.0", ""],
        ["0.3", "", "11.0"],
    ]


def test_an_empty_plot_exports_its_header(tmp_path: Path) -> None:
    assert write_csv(tmp_path / "x.csv", {}, {}) == 0
    assert (tmp_path / "x.csv").read_text() == "time [s]\n"


def test_png(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    series = {"a.x": np.array([[0.0, 0.1, 0.2], [1.0, 2.0, 3.0]])}
    write_png(tmp_path / "x.png", series, {})
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


def test_png_without_matplotlib_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'mjrig\[plot\]'"):
        write_png(tmp_path / "x.png", {}, {})


def test_export_of_what_is_seen() -> None:
    series = {"a": np.array([[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]])}
    np.testing.assert_array_equal(clipped(series, 1.0, 2.0)["a"], [[1.0, 2.0], [5.0, 6.0]])


def test_names_of_exports_are_free(tmp_path: Path) -> None:
    assert free_name(tmp_path, "plot", ".csv") == tmp_path / "plot.csv"
    (tmp_path / "plot.csv").touch()
    assert free_name(tmp_path, "plot", ".csv") == tmp_path / "plot_2.csv"


def test_short_names_leave_the_actor_out_where_there_is_one() -> None:
    assert short_names(["a.x.position", "a.height"]) == ["x.position", "height"]
    assert short_names(["a.height", "b.height"]) == ["a.height", "b.height"]


# The panel --------------------------------------------------------------------------------------


class _Source(Panel):
    """Something to drag from."""

    title = "Source"
    place = "left"
    what: tuple[str, Any] = ("signal", "")

    def draw(self) -> None:
        imgui.button("Drag me")
        if imgui.begin_drag_drop_source():
            self.state.dragged = self.what
            imgui.set_drag_drop_payload_py_id("MJRIG", 1)
            imgui.end_drag_drop_source()


def _panel() -> tuple[EditorState, PlotsPanel]:
    state = editor_state(SCENE)
    return state, PlotsPanel(state)


def _texts(state: EditorState) -> list[str]:
    return [line.text for line in state.console.lines]


def test_signals_are_picked_by_words_all_and_none() -> None:
    state, panel = _panel()
    state.simulation.advance(20)
    wanted = [i.path for i in panel.board.offered() if "effort" in i.path and "swing" in i.path]
    assert len(wanted) >= 3

    def picks(ctx: Any) -> None:
        ctx.set_ref("//Plots")
        ctx.item_click("**/Signals")
        ctx.set_ref("//$FOCUSED")
        ctx.item_input_value("##filter", "EFFORT swing")
        ctx.item_click("All")
        plotted.append(list(panel.board.plots[0].signals))
        ctx.item_click(f"**/{wanted[0]}")
        plotted.append(list(panel.board.plots[0].signals))
        ctx.item_click("None")
        plotted.append(list(panel.board.plots[0].signals))

    plotted: list[list[str]] = []
    run_ui_tests(app_with(state, [panel]), picks)
    assert plotted == [wanted, wanted[1:], []]
    assert not _texts(state)


def test_signals_and_properties_are_dropped_on_a_plot_and_the_rest_is_refused() -> None:
    state, panel = _panel()
    source = _Source(state)
    path = first_signal(panel.board)
    (actuator,) = state.simulation.world["swing"].actuator_names

    def drops(ctx: Any) -> None:
        kp = ("property", "swing.PDController.kp")
        for what in (("signal", path), kp, ("model", "x.xml"), ("actuator", f"swing.{actuator}")):
            source.what = what
            ctx.item_drag_and_drop("//Source/Drag me", "//Plots/1/##plot")

    run_ui_tests(app_with(state, [panel, source]), drops)
    followed = [f"swing.{actuator}.setpoint", f"swing.{actuator}.position"]
    signals = [path, f"swing.PDController.kp[{actuator}]", *followed]
    assert panel.board.plots[0].signals == list(dict.fromkeys(signals))
    assert _texts(state) == [
        "a model cannot be plotted; drop a signal, an actuator or a numeric property"
    ]


def _plotted(tmp_path: Path) -> tuple[EditorState, PlotsPanel, str]:
    """A panel on a scene file, that has run with one signal on its plot."""
    file = tmp_path / "scene.yaml"
    file.write_text(SCENE)
    state = editor_state(Scene.load(file))
    panel = PlotsPanel(state)
    path = first_signal(panel.board)
    panel.board.add(panel.board.add_plot(), path)
    state.simulation.advance(3000)
    state.simulation.publish()
    return state, panel, path


def test_pause_cursors_legend_and_further_plots(tmp_path: Path) -> None:
    state, panel, path = _plotted(tmp_path)
    now = state.simulation.frame.time
    seen: list[Any] = []

    def uses(ctx: Any) -> None:
        (plot,) = panel.board.plots
        key = plot.key
        ctx.set_ref(f"//Plots/{key}")
        ctx.item_click("###pause")
        seen.append(plot.is_paused)
        ctx.item_click("###pause")
        seen.append(plot.is_paused)
        ctx.item_click("Cursors")
        ctx.yield_(2)
        seen.append((plot.is_paused, plot.cursors, panel.board.readings(plot)[path].a))
        ctx.item_click("Cursors")
        seen.append(plot.cursors)
        ctx.item_click("Auto")
        seen.append(plot.autoscale)
        ctx.item_click("//Plots/Add plot")
        ctx.yield_(2)
        seen.append(len(panel.board.plots))
        ctx.item_click("x##remove")
        ctx.yield_(2)
        seen.append([p.signals for p in panel.board.plots])

    run_ui_tests(app_with(state, [panel]), uses)
    third = pytest.approx((now - 5.0 + 5.0 / 3.0, now - 5.0 + 10.0 / 3.0))
    paused, cursors, value = seen.pop(2)
    assert seen == [True, False, None, False, 2, [[]]]
    assert paused and cursors == third
    assert isnan(value) == (now - 5.0 + 5.0 / 3.0 < 0.0)
    assert not _texts(state)


def test_a_signal_is_removed_in_the_legend_and_the_layout_is_kept(tmp_path: Path) -> None:
    state, panel, path = _plotted(tmp_path)
    other = first_signal(panel.board, "velocity")
    panel.board.add(panel.board.plots[0], other)

    def removes(ctx: Any) -> None:
        ctx.yield_(2)
        ctx.item_click(f"//Plots/**/{path}/x##out")
        ctx.yield_(3)

    run_ui_tests(app_with(state, [panel]), removes)
    assert panel.board.plots[0].signals == [other]
    assert load_layout(state.scene.path) == [{"signals": [other], "window": 5.0, "autoscale": True}]
    again = PlotsPanel(state)
    with plain_imgui(again.draw) as frames:
        frames(2)
    assert [p.signals for p in again.board.plots] == [[other]]


def test_export_from_the_panel(tmp_path: Path) -> None:
    state, panel, path = _plotted(tmp_path)
    offered: list[Path] = []
    state.offer_file = offered.append

    def exports(ctx: Any) -> None:
        ctx.item_click(f"//Plots/{panel.board.plots[0].key}/Export")
        ctx.set_ref("//$FOCUSED")
        ctx.item_click("Save CSV")
        panel.exporter.wait()

    run_ui_tests(app_with(state, [panel]), exports)
    file = tmp_path / "plot.csv"
    assert _texts(state) == [f"wrote {file} (3000 rows)"] and offered == [file]
    assert file.read_text().splitlines()[0] == f"time [s],{path} [rad]"


def test_an_export_that_fails_says_why(tmp_path: Path) -> None:
    state, panel, _ = _plotted(tmp_path)
    panel.exporter.write(panel.board.plots[0], tmp_path / "none" / "x.csv")
    panel.exporter.wait()
    (said,) = _texts(state)
    assert said.startswith("the plot cannot be exported: [Errno 2] No such file or directory")


def test_the_wheel_chooses_the_window_and_dragging_pauses(tmp_path: Path) -> None:
    _, panel, _ = _plotted(tmp_path)
    with plain_imgui(panel.draw) as frames:
        frames(2)
        (plot,) = panel.board.plots
        frames.move(250, 300)
        imgui.get_io().add_mouse_wheel_event(0.0, 1.0)
        frames(2)
        assert plot.window == pytest.approx(5.0 * 0.85)
        begin, end = panel._seen[plot.key]
        assert end - begin == pytest.approx(plot.window)
        frames.drag(250, 300, 60)
        assert plot.is_paused
        frames(3)
        dragged = panel._seen[plot.key]
        imgui.get_io().add_mouse_wheel_event(0.0, 2.0)  # now it zooms
        frames(3)
        zoomed = panel._seen[plot.key]
        assert zoomed[1] - zoomed[0] < dragged[1] - dragged[0]
        assert plot.window == pytest.approx(5.0 * 0.85)


def test_cursors_are_dragged(tmp_path: Path) -> None:
    _, panel, _ = _plotted(tmp_path)
    with plain_imgui(panel.draw) as frames:
        frames(2)
        (plot,) = panel.board.plots
        panel._set_cursors(plot, True)
        frames(3)
        assert plot.cursors is not None
        before = plot.cursors
        begin, end = panel._seen[plot.key]
        left, width = panel.inside[plot.key]
        x = left + width * (before[1] - begin) / (end - begin)
        frames.drag(x, 300, 30)
        after = plot.cursors
    assert after[0] == before[0]
    assert after[1] - before[1] == pytest.approx(30 * (end - begin) / width, rel=0.05)


def test_another_scene_keeps_the_signals_it_has_and_names_the_rest(tmp_path: Path) -> None:
    state, panel, path = _plotted(tmp_path)
    with plain_imgui(panel.draw) as frames:
        frames(2)
        other = SCENE.replace("name: swing", "name: other")
        state.session = editor_state(other).session
        frames(2)
        assert _texts(state) == [f"not plotted, not in this scene: {path}"]
        state.session = editor_state(SCENE).session
        frames(2)
        panel.drop(panel.board.plots[0], "signal", path)
        state.simulation.advance(3)
        assert panel.board.samples(panel.board.plots[0])[path].shape[1] == 3


def test_a_scene_without_plots_of_its_own_begins_with_its_first_actuator() -> None:
    state = editor_state(SCENE)
    panel = PlotsPanel(state, starts_filled=True)
    run_ui_tests(app_with(state, [panel]), lambda ctx: ctx.yield_(2))
    (actuator,) = state.simulation.world["swing"].actuator_names
    assert panel.board.plots[0].signals == [
        f"swing.{actuator}.setpoint",
        f"swing.{actuator}.position",
    ]


# The value axis ----------------------------------------------------------------------------------


class Sight:
    """What the axes of the plots show when they are finished."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.limits: list[tuple[float, float]] = []
        end = implot.end_plot

        def noting() -> None:
            y = implot.get_plot_limits().y
            self.limits.append((y.min, y.max))
            end()

        monkeypatch.setattr(implot, "end_plot", noting)


@pytest.mark.parametrize("values", [(0.0,), (1e6,), (-3.0,), (0.0, 0.5), (2.0, 2.0 + 1e-7)])
def test_constant_signals_keep_away_from_the_frame(
    values: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    state = editor_state(SCENE)
    panel = PlotsPanel(state)
    seen = Sight(monkeypatch)

    def look(ctx: Any) -> None:
        plot = panel.board.plots[0]
        paths = [i.path for i in panel.board.offered()][: len(values)]
        panel.board.add(plot, *paths)
        watched = state.simulation.signals.watched
        for step in range(50):
            for path, value in zip(paths, values, strict=True):
                watched[path].add(0.01 * step, value)
        ctx.yield_(4)
        low, high = seen.limits[-1]
        room = 0.02 * (high - low)
        assert low + room < min(values) and max(values) < high - room

    run_ui_tests(app_with(state, [panel]), look)


def test_a_scene_that_begins_empty_is_plotted_once_a_robot_follows_something() -> None:
    state = editor_state("mjrig: 1\n")
    panel = PlotsPanel(state, starts_filled=True)
    seen: list[list[str]] = []

    def builds(ctx: Any) -> None:
        ctx.yield_(2)
        seen.append(list(panel.board.plots[0].signals))
        with state.session.edit("Add") as scene:
            scene.add_actor(
                "swing",
                model="package:mjrig.assets/pendulum/pendulum.xml",
                components=[{"type": "PDController"}],
            )
        ctx.yield_(2)
        seen.append(list(panel.board.plots[0].signals))
        panel.board.remove(panel.board.plots[0], *seen[-1])
        state.session.set("swing.pose.position", [0, 1, 0])
        ctx.yield_(2)
        seen.append(list(panel.board.plots[0].signals))  # what the user took away stays away

    run_ui_tests(app_with(state, [panel]), builds)
    assert seen == [[], ["swing.swing.setpoint", "swing.swing.position"], []]
