"""A run without a window: steps, statistics, files."""

import re
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import mjrig
from mjrig.cli.main import main
from mjrig.cli.run import UnwrittenError, run
from mjrig.core.control.actor_in_world import base_position
from mjrig.core.control.sampler import SampleLog
from mjrig.core.progress import Progress, Waiting
from mjrig.lab.check import preflight
from tests.patience import PATIENCE
from tests.worlds import arm

SCENE = """\
mjrig: 1
actors:
  - {name: dog, model: legs.xml, keyframe: home, components: [{type: PDController}]}
"""
BALL = """
<mujoco>
  <option timestep="0.01" gravity="0 0 -10"/>
  <worldbody><body><freejoint/><geom size="0.1"/></body></worldbody>
</mujoco>
"""


@pytest.fixture
def world(models: Path) -> mjrig.World:
    return mjrig.World(mjrig.Scene.parse(SCENE, models))


def test_a_run_takes_the_steps_of_its_duration(world: mjrig.World) -> None:
    text = run(world, 0.05)
    assert world.steps == 25
    assert text.startswith("scene: 0.05 s simulated in ")
    assert ", 25 steps of 2 ms, execution " in text


def test_a_run_of_no_duration_says_so(world: mjrig.World) -> None:
    text = run(world, 0.0)
    assert "(no steps), 0 steps of 2 ms" in text
    assert world.steps == 0


def test_a_run_says_how_far_a_free_base_moved(tmp_path: Path) -> None:
    (tmp_path / "ball.xml").write_text(BALL)
    scene = mjrig.Scene.parse("mjrig: 1\nactors: [{name: b, model: ball.xml}]\n", tmp_path)
    world = mjrig.World(scene)
    lines = run(world, 0.1).splitlines()
    # Semi-implicit Euler: sum of 10·0.01²·k over k = 1 … 10.
    assert lines[1:] == [
        "b: base moved by (+0.000, +0.000, -0.055) to (0.000, 0.000, -0.055) m",
        "events: none",
    ]


def test_a_robot_that_stands_on_the_world_has_no_base(world: mjrig.World) -> None:
    assert base_position(world["dog"]) is None


def test_a_thing_that_lies_beside_a_robot_is_not_its_base(tmp_path: Path) -> None:
    cube = '<body name="cube"><freejoint/><geom type="sphere" size=".1"/></body></worldbody>'
    (tmp_path / "arm.xml").write_text(arm().replace("</worldbody>", cube))
    scene = mjrig.Scene.parse("mjrig: 1\nactors: [{name: a, model: arm.xml}]\n", tmp_path)
    world = mjrig.World(scene)
    assert base_position(world["a"]) is None


@pytest.mark.parametrize("count", [1, 3, 12])
def test_free_things_of_a_robots_model_are_told_by_name(tmp_path: Path, count: int) -> None:
    rng = np.random.default_rng(count)
    places = {f"cube{k}": rng.uniform(-5.0, 5.0, 3).round(2) for k in range(count)}
    cubes = "".join(
        f'<body name="{name}" pos="{x} {y} {z}"><freejoint/><geom type="sphere" size=".1" '
        'contype="0" conaffinity="0"/></body>'
        for name, (x, y, z) in places.items()
    )
    model = arm(option='gravity="0 0 -10"').replace("</worldbody>", f"{cubes}</worldbody>")
    (tmp_path / "arm.xml").write_text(model)
    scene = mjrig.Scene.parse("mjrig: 1\nactors: [{name: a, model: arm.xml}]\n", tmp_path)
    lines = run(mjrig.World(scene), 0.11).splitlines()[2:]
    down = 10.0 * 0.001**2 * 110 * 111 / 2  # semi-implicit Euler
    expected = [
        f"  {name} moved by (+0.000, +0.000, -{down:.3f}) to ({x:.3f}, {y:.3f}, {z - down:.3f}) m"
        for name, (x, y, z) in places.items()
    ]
    if count > 8:
        expected = [*expected[:8], f"  {count - 8} more free bodies"]
    assert lines[: len(expected)] == expected


def test_things_without_actuators_are_only_told_of_where_they_move() -> None:
    world = mjrig.World(
        mjrig.Scene.parse("""mjrig: 1
actors:
  - {name: ground, prop: {type: GroundProp}}
  - {name: ball, prop: {type: SphereProp, radius: 0.1, free: true}, pose: {position: [0, 0, 0.1]}}
""")
    )
    lines = run(world, 0.1).splitlines()
    assert lines[1:] == [
        "ball: base moved by (+0.000, +0.000, -0.000) to (0.000, 0.000, 0.100) m",
        "events: none",
    ]
    assert ("without actuators", "ground, ball") in preflight.described(world).facts


def test_the_scenes_own_camera_takes_the_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hero = '<worldbody><camera name="hero"/>'
    (tmp_path / "arm.xml").write_text(arm().replace("<worldbody>", hero))
    text = "mjrig: 1\nactors:\n  - {name: a, model: arm.xml}\n"
    asked: list[str] = []
    monkeypatch.setattr("mjrig.core.sim.rendering.draw", lambda *given: asked.append(given[3]))
    for more in ("", "  - {name: view, prop: {type: CameraProp}}\n"):
        world = mjrig.World(mjrig.Scene.parse(text + more, tmp_path))
        run(world, 0.0, picture=tmp_path / "p.png")
    assert asked == ["", "view/camera"]


def test_a_run_lists_events(world: mjrig.World) -> None:
    world["dog"].setpoints.position[0] = float("nan")
    lines = run(world, 0.01).splitlines()
    at = lines.index("events: 1")
    assert "dog.left_hip: position setpoint is nan" in lines[at + 1]


def test_a_log_samples_what_is_bound(world: mjrig.World) -> None:
    robot = world["dog"]
    log = SampleLog(robot)
    world.step()
    log.take(world.time)
    assert log.names == ("left_hip", "left_knee", "right_hip", "right_knee")
    assert log.time.tolist() == [0.002]
    assert log.values("target")[0].tolist() == [0.1, 0.2, 0.3, 0.4]
    for name in ("position", "effort", "raw_effort", "applied_effort"):
        assert np.array_equal(log.values(name), [getattr(robot, name)])


# Plots and pictures -----------------------------------------------------------------------------


def test_a_plot_is_written_to_a_folder_that_is_made(world: mjrig.World, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    file = tmp_path / "new" / "plot.png"
    assert run(world, 0.05, plot=file).splitlines()[-1] == f"plot: {file}"
    assert file.read_bytes().startswith(b"\x89PNG")


def test_a_plot_of_no_samples_is_written_all_the_same(world: mjrig.World, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    run(world, 0.0, plot=tmp_path / "plot.png")
    assert (tmp_path / "plot.png").is_file()


def test_a_picture_of_the_end_is_drawn(world: mjrig.World, tmp_path: Path) -> None:
    file = tmp_path / "p.png"
    try:
        last = run(world, 0.01, picture=file).splitlines()[-1]
    except UnwrittenError as error:
        pytest.skip(f"no graphics backend works here: {error}")
    assert last == f"picture: {file}"
    assert file.read_bytes().startswith(b"\x89PNG")


def test_a_picture_that_cannot_be_drawn_is_an_error_after_the_summary(
    models: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("mjrig.core.sim.rendering.draw", lambda *rest: "egl: no display")
    (models / "s.yaml").write_text(SCENE)
    words = ["run", str(models / "s.yaml"), "--duration", "0.01", "--picture", "p.png"]
    assert main(words) == 1
    out, err = capsys.readouterr()
    assert "s simulated in" in out
    assert err == "mjrig: p.png: no picture: egl: no display\n"


@pytest.mark.parametrize("option", ["--plot", "--picture"])
def test_a_file_that_cannot_be_written_is_said_before_the_run(
    models: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    (models / "s.yaml").write_text(SCENE)
    (models / "folder.png").mkdir()
    scene = str(models / "s.yaml")
    for name, problem in (
        ("out.gif", "must end in .png"),
        ("folder.png", "cannot be written"),
        ("s.yaml/out.png", "cannot be written: File exists"),
    ):
        assert main(["run", scene, "--duration", "1e9", option, str(models / name)]) == 1
        assert capsys.readouterr().err == f"mjrig: {models / name}: {problem}\n"


# Progress ---------------------------------------------------------------------------------------


class Terminal:
    """A stderr that says it is a terminal, and remembers."""

    def __init__(self) -> None:
        self.text = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        """Nothing waits."""


def test_a_long_run_shows_a_bar_on_a_terminal_and_takes_it_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = Terminal()
    clock = iter([0.0, 0.2, 1.0, 1.05, 2.0])
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    with Progress(100, 0.01) as progress:
        progress.update(10)  # too early to bother anybody
        progress.update(25)
        progress.update(26)  # too soon after the last time
        progress.update(50)
    shown = terminal.text.split("\r")
    assert shown[1] == "████████······················  25%  0.2 s simulated, 3 s left "
    assert shown[2] == "███████████████···············  50%  0.5 s simulated, 2 s left "
    assert shown[3].strip() == ""
    assert len(shown[3]) >= len(shown[2])


def test_no_bar_is_shown_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(1, 1.0) as progress:
        progress.update(1)
    assert capsys.readouterr().err == ""


def test_long_work_without_steps_says_what_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    said = threading.Event()
    monkeypatch.setattr(terminal, "flush", said.set)
    with Waiting("building", patience=0.0) as waiting:
        waiting.now("checking")
        assert said.wait(PATIENCE)
    assert re.match(r"\r\x1b\[K(building|checking) … \d+ s", terminal.text)
    assert terminal.text.endswith("\r\x1b[K")
    terminal.text = ""
    with Waiting("building"):
        pass
    assert terminal.text == "\r\x1b[K"  # nothing was said


def test_nothing_is_said_where_nobody_sees_it(capsys: pytest.CaptureFixture[str]) -> None:
    with Waiting("building", patience=0.0):
        pass
    assert capsys.readouterr().err == ""


def test_the_headline_uses_one_clock(world: mjrig.World, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(1000))
    monkeypatch.setattr("time.perf_counter", lambda: next(clock) * 0.5)
    head = run(world, 1.0004).partition("\n")[0]
    said = re.search(r": (\S+) s simulated in (\S+) s \((\S+) × real time\), (\d+) steps", head)
    assert said is not None
    simulated, elapsed, speed, steps = map(float, said.groups())
    assert simulated == pytest.approx(steps * world.timestep)
    assert speed == pytest.approx(simulated / elapsed, rel=0.01)
