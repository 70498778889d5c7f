"""`mjrig run --watch`: changed files are taken up, the state kept, errors survived."""

from collections.abc import Callable
from pathlib import Path

import pytest

import mjrig
from mjrig.cli.live_run import LiveRun
from mjrig.cli.main import main
from mjrig.core.scene.editing.file_watch import watched_files
from tests.places import SCENES
from tests.wording import mentions
from tests.worlds import arm, hinge

SCENE = """\
mjrig: 1
actors:
- name: robot
  model: model.xml
  components:
  - {type: PDController, kp: KP, kv: 3}
"""
PUSHER = """
from mjrig import ActorComponent

class Pusher(ActorComponent):
    def attach(self, articulation):
        self._robot = articulation

    def before_controls(self, time):
        self._robot.set_targets(0.5)
"""


class Session:
    """A run with a clock of its own, whose files are edited between two looks."""

    def __init__(self, folder: Path, model: str, scene: str) -> None:
        self.folder, self.said, self.now = folder, list[str](), 0.0
        self.write("model.xml", model)
        self.write("scene.yaml", scene)

        def build() -> mjrig.World:
            return mjrig.World(mjrig.Scene.load(folder / "scene.yaml", trust=True))

        self.live = LiveRun(
            build(), build, self.said.append, clock=lambda: self.now, sleep=self._sleep
        )

    def _sleep(self, seconds: float) -> None:
        self.now += seconds

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def look(self) -> str:
        """Two looks, for a file counts as written when they find it alike; the last line said."""
        self.said.clear()
        for _ in range(2):
            self.now += 2.0
            self.live.look()
        return self.said[-1] if self.said else ""


@pytest.fixture
def session(tmp_path: Path) -> Session:
    found = Session(tmp_path, arm(), SCENE.replace("KP", "30"))
    found.live.world["robot"].set_targets({"shoulder": 0.4})
    found.live.advance(0.3)
    return found


def state(world: mjrig.World) -> list[float]:
    return [world.time, *world.data.qpos, *world.data.qvel, *world["robot"].setpoints.position]


def test_a_changed_scene_is_taken_up_where_the_robot_is(session: Session) -> None:
    before, old = state(session.live.world), session.live.world
    session.write("scene.yaml", SCENE.replace("KP", "55"))
    assert mentions(session.look(), "took up scene.yaml: all of …")
    new = session.live.world
    assert new is not old and state(new) == before and before[1] != 0.0
    assert new["robot"].controllers[0].gains()["kp"].tolist() == [55.0, 55.0]
    assert session.look() == ""


def test_a_changed_model_keeps_the_joints_that_are_the_same(session: Session) -> None:
    shoulder = session.live.world.data.qpos[0]
    changed = arm(joint='range="-3 3"').replace('"elbow"', '"wrist"')
    session.write("model.xml", changed)
    said = session.look()
    assert "took up model.xml" in said and "wrist (hinge) starts anew" in said
    assert "elbow (hinge) is gone" in said
    assert session.live.world.data.qpos[0] == shoulder != 0.0


def test_a_joint_of_another_type_starts_anew(tmp_path: Path) -> None:
    session = Session(tmp_path, hinge(), SCENE.replace("KP", "30"))
    session.live.world.data.qpos[0] = 0.7
    session.write("model.xml", hinge(joint='type="slide"'))
    assert "swing (slide) starts anew" in session.look()
    assert session.live.world.data.qpos[0] == 0.0


BROKEN: dict[str, Callable[[Session], None]] = {
    "half a model": lambda s: s.write("model.xml", arm()[:200]),
    "half a scene": lambda s: s.write("scene.yaml", SCENE[:40]),
    "an unknown type": lambda s: s.write("scene.yaml", SCENE.replace("PDController", "PD")),
    "a value out of range": lambda s: s.write("scene.yaml", SCENE.replace("KP", "-1")),
}


@pytest.mark.parametrize("how", BROKEN)
def test_an_error_leaves_the_old_world_running(session: Session, how: str) -> None:
    old, before = session.live.world, state(session.live.world)
    BROKEN[how](session)
    said = session.look()
    assert mentions(said, "cannot be reloaded, … ") and "\n" not in said
    assert session.live.world is old and state(old) == before
    session.live.advance(0.01)
    session.write("model.xml", arm())
    session.write("scene.yaml", SCENE.replace("KP", "44"))
    assert "took up" in session.look()


def test_a_changed_module_is_taken_up_and_one_that_fails_in_a_step_is_not(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(PUSHER)
    scene = SCENE.replace("KP", "30") + "  - {type: 'own:Pusher'}\n"
    session = Session(tmp_path, arm(), scene)
    session.live.advance(0.01)
    session.write("own.py", PUSHER.replace("0.5", "0.25"))
    assert "took up own.py" in session.look()
    session.live.advance(0.01)
    assert session.live.world["robot"].setpoints.position.tolist() == [0.25, 0.25]
    running = session.live.world
    session.write("own.py", PUSHER.replace("self._robot.set_targets(0.5)", "1 / 0"))
    assert "ZeroDivisionError" in session.look()
    assert session.live.world is running


def test_the_network_of_a_policy_is_watched() -> None:
    scene = mjrig.Scene.load(SCENES / "quadruped_walk.yaml")
    names = {path.name for path in watched_files(scene)}
    assert {"quadruped_walk.yaml", "policy.yaml", "walk.onnx", "quadruped.xml"} <= names


def test_it_runs_at_real_time_and_ends(session: Session) -> None:
    begun, start = session.now, session.live.world.time
    session.live.run(0.5)
    assert session.live.world.time - start == pytest.approx(0.5)
    assert session.now - begun == pytest.approx(0.5)
    assert "watching 2 files" in session.said[0]


def test_the_command_runs_and_refuses_what_is_of_one_world(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = str(SCENES / "pendulum.yaml")
    assert main(["run", scene, "--watch", "--duration", "0.02"]) == 0
    assert "running at real time" in capsys.readouterr().out
    assert main(["run", scene, "--watch", "--plot", str(tmp_path / "a.png")]) == 1
    assert "--plot cannot be combined with --watch" in capsys.readouterr().err


def test_stopping_says_when(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(self: LiveRun, duration: float | None) -> None:
        assert duration is None
        raise KeyboardInterrupt

    monkeypatch.setattr(LiveRun, "run", stop)
    assert main(["run", str(SCENES / "pendulum.yaml"), "--watch"]) == 0
    assert "stopped at t=0.000 s" in capsys.readouterr().out
