"""Types in modules beside a scene: run only where the user trusts the folder."""

import os
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

import mjrig
from mjrig.cli.main import main
from mjrig.core.scene.editing.file_watch import files_of
from mjrig.lab.rollouts.scene_bundle import Bundle, LocalScene
from mjrig.lab.rollouts.world_copy import copy_of
from tests.wording import matches, regex
from tests.worlds import refused

MODULE = """
from mjrig import ArticulationController
from mjrig.components import Clamp, Law
from mjrig.properties import Float, PerActuator


class Push(ArticulationController):
    '''A constant effort.'''

    push = Float(PUSH, unit="N·m", doc="Effort.")

    def compute_and_apply(self, model, data, source):
        for binding in self.bindings:
            data.ctrl[binding.ctrl_address] = self.push / binding.factor


class Spring(Law):
    '''A spring.'''

    k = PerActuator(constant=2.0)

    def compute(self, q, qd, target_q, target_qd, feedforward, state, dt, out):
        out[...] = self.k * (target_q - q)


class Half(Clamp):
    '''Half the effort.'''

    def apply(self, effort, q, qd, out):
        out[...] = 0.5 * effort
"""
SCENE = """\
mjrig: 1
actors:
  - name: dog
    model: legs.xml
    components:
      - type: my_module:Push   # ours
        push: 2
"""
NESTED = """\
mjrig: 1
actors:
  - name: dog
    model: legs.xml
    components:
      - type: PDController
        law: {type: my_module:Spring, k: 3}
        clamps: [{type: my_module:Half}]
"""


@pytest.fixture
def folder(models: Path) -> Path:
    """A scene beside the module of its controller."""
    (models / "my_module.py").write_text(MODULE.replace("PUSH", "1.0"))
    (models / "s.yaml").write_text(SCENE)
    return models


def message(error: pytest.ExceptionInfo[BaseException], folder: Path) -> str:
    return str(error.value).replace(str(folder.resolve()), "HERE").replace(str(folder), "HERE")


def test_without_trust_nothing_is_run_and_the_error_names_file_line_and_flag(folder: Path) -> None:
    (folder / "my_module.py").write_text("raise SystemExit('it ran')")
    with pytest.raises(mjrig.UntrustedError) as caught:
        mjrig.Scene.load(folder / "s.yaml")
    assert matches(
        message(caught, folder),
        "HERE/s.yaml:6:15: actors[0].components[0]: dog.components[0]: the type is "
        "code … 'HERE/my_module.py', … --trust … Python: Scene.load(path, trust=True))",
    )
    assert caught.value.folder == folder.resolve()
    assert isinstance(caught.value, mjrig.SceneError)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.folder) == (str(caught.value), caught.value.folder)


def test_with_trust_it_is_a_component_like_any_other(folder: Path) -> None:
    path, modules = list(sys.path), set(sys.modules)
    scene = mjrig.Scene.load(folder / "s.yaml", trust=True)
    assert sys.path == path
    assert "my_module" not in set(sys.modules) - modules
    assert scene.to_text() == SCENE
    world = mjrig.World(scene)
    world.step(3)
    assert world["dog"].controllers[0].label == "dog.Push"
    assert 2.0 in world.data.ctrl
    scene.set("dog.Push.push", 5)
    assert scene.to_text() == SCENE.replace("push: 2", "push: 5")


def test_laws_and_clamps_work_the_same_way(folder: Path) -> None:
    with pytest.raises(mjrig.UntrustedError, match=r":7:21: actors\[0\]\.components\[0\]\.law: "):
        mjrig.Scene.parse(NESTED, folder)
    scene = mjrig.Scene.parse(NESTED, folder, trust=True)
    robot = mjrig.World(scene)["dog"]
    pipe: Any = robot.controllers[0]
    assert [type(pipe.law).__name__, type(pipe.clamps[0]).__name__] == ["Spring", "Half"]
    pipe.clamps = [{"type": "my_module:Half"}, {"type": "my_module:Half"}]  # live, by name
    assert len(pipe.clamps) == 2


def test_reload_copies_and_text_keep_the_trust(folder: Path) -> None:
    scene = mjrig.Scene.load(folder / "s.yaml", trust=True)
    (folder / "s.yaml").write_text(SCENE.replace("push: 2", "push: 3"))
    scene.reload()
    assert scene.to_data()["actors"][0]["components"] == [{"type": "my_module:Push", "push": 3}]  # type: ignore[index]
    world = mjrig.World(scene)
    twin = pickle.loads(pickle.dumps(copy_of(world))).build()
    assert type(twin["dog"].controllers[0]).__name__ == "Push"
    assert LocalScene.of(scene).load().to_text() == scene.to_text()
    assert folder.resolve() / "my_module.py" in files_of(folder / "s.yaml", scene)


def test_a_bundle_brings_the_module_and_the_trust(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    bundle = Bundle.of(mjrig.Scene.load(folder / "s.yaml", trust=True))
    (folder / "my_module.py").unlink()
    component = bundle.load()["dog"].components[0]
    assert type(component).__name__ == "Push"


def test_two_scenes_with_modules_of_one_name_do_not_meet(folder: Path) -> None:
    other = folder / "other"
    other.mkdir()
    (other / "legs.xml").write_text((folder / "legs.xml").read_text())
    (other / "my_module.py").write_text(MODULE.replace("PUSH", "7.0"))
    (other / "s.yaml").write_text(SCENE.replace("        push: 2\n", ""))
    first: Any = mjrig.Scene.load(folder / "s.yaml", trust=True)["dog"].components[0]
    second: Any = mjrig.Scene.load(other / "s.yaml", trust=True)["dog"].components[0]
    assert type(first) is not type(second)
    assert [type(c).push.default for c in (first, second)] == [1.0, 7.0]


def test_an_included_file_needs_its_own_folder_trusted(folder: Path) -> None:
    part = folder / "parts"
    part.mkdir()
    outer = "mjrig: 1\ninclude: [{file: PART, prefix: a_}]\nactors: []\n"
    for name in ("s.yaml", "legs.xml", "my_module.py"):
        (folder / name).rename(part / name)
    (folder / "outer.yaml").write_text(outer.replace("PART", "parts/s.yaml"))
    scene = mjrig.Scene.load(folder / "outer.yaml", trust=True)
    assert type(mjrig.World(scene)["a_dog"].controllers[0]).__name__ == "Push"
    beside = folder / "beside"
    beside.mkdir()
    (beside / "outer.yaml").write_text(outer.replace("PART", "../parts/s.yaml"))
    with pytest.raises(mjrig.UntrustedError) as caught:
        mjrig.Scene.load(beside / "outer.yaml", trust=True)
    assert caught.value.folder == part.resolve()
    assert f"trusted is only {str(beside.resolve())!r}" in str(caught.value)
    assert "--trust" not in str(caught.value)
    mjrig.Scene.load(beside / "outer.yaml", trust=[beside, part])


def test_a_link_out_of_the_trusted_folder_is_refused(folder: Path, tmp_path: Path) -> None:
    inner = folder / "inner"
    inner.mkdir()
    (inner / "legs.xml").write_text((folder / "legs.xml").read_text())
    os.symlink(folder / "my_module.py", inner / "my_module.py")
    with pytest.raises(mjrig.SceneError, match=regex("is a link to …my_module.py', …")):
        mjrig.Scene.parse(SCENE, inner, trust=True)


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        ("my_module:Pusch", "'Pusch' is not in 'my_module.py'; did … 'Push'?"),
        (
            "my_module:Spring",
            "'Spring' is not a type … 'my_module.py'; … Push",
        ),
        (
            "my_module:Float",
            "'Float' is not a type … 'my_module.py'; … Push",
        ),
        ("my_modul:Push", "there is no module 'HERE/my_modul.py'; … 'my_module'?"),
        (
            "../my_module:Push",
            "'../my_module:Push' is not a type; … my_module:MyController, … .py … Python … _, …",
        ),
    ],
)
def test_a_name_that_leads_nowhere_names_the_nearest(folder: Path, kind: str, problem: str) -> None:
    text = SCENE.replace("my_module:Push", kind)
    with pytest.raises(mjrig.SceneError) as caught:
        mjrig.Scene.parse(text, folder, trust=True)
    where = "<text>:6:15: actors[0].components[0]: dog.components[0]: "
    assert matches(message(caught, folder), where + problem)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("\nimport no_such_module_at_all\n", "HERE/my_module.py:2: ModuleNotFoundError: No module"),
        ("import s\n", "HERE/my_module.py:1: ModuleNotFoundError: No module named 's'; modules b"),
        ("x = (\n", "HERE/my_module.py:1: SyntaxError: '(' was never closed"),
        ("raise SystemExit(3)", "HERE/my_module.py:1: SystemExit: 3"),
    ],
)
def test_a_module_that_cannot_be_loaded_is_a_scene_error(
    folder: Path, source: str, problem: str
) -> None:
    (folder / "my_module.py").write_text(source)
    (folder / "s.py").touch()
    with pytest.raises(mjrig.SceneError) as caught:
        mjrig.Scene.load(folder / "s.yaml", trust=True)
    where = "HERE/s.yaml:6:15: actors[0].components[0]: dog.components[0]: "
    expected = f"{where}the module cannot be loaded: {problem}"
    assert message(caught, folder).startswith(expected)


def test_a_sandbox_runs_no_code(folder: Path) -> None:
    with pytest.raises(mjrig.SceneError, match=regex("is code beside the …")):
        mjrig.Scene.load(folder / "s.yaml", sandbox=True)
    with pytest.raises(mjrig.SceneError, match="trust and sandbox exclude each other"):
        mjrig.Scene.load(folder / "s.yaml", sandbox=True, trust=True)


def test_the_command_line_has_the_flag(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scene = str(folder / "s.yaml")
    assert main(["check", scene]) == 1
    assert "pass --trust" in capsys.readouterr().err
    assert main(["check", scene, "--trust"]) == 0
    assert main(["run", scene, "--trust", "--duration", "0.01", "--set", "dog.Push.push=3"]) == 0
    assert main(["diff", scene, scene, "--trust"]) == 0
    assert main(["check", scene, "--trust", "--sandbox"]) == 1
    assert "exclude each other" in capsys.readouterr().err


def test_a_registered_class_needs_no_module(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mjrig.core.properties.registry._registered", {})

    @mjrig.register
    class PushHere(mjrig.ArticulationController):
        """A constant effort."""

        def compute_and_apply(self, model: Any, data: Any, source: Any) -> None:
            data.ctrl[:] = 1.5

    text = SCENE.replace("my_module:Push   # ours\n        push: 2", "PushHere")
    scene = mjrig.Scene.parse(text, models)
    assert scene.to_text() == text
    world = mjrig.World(scene)
    world.step()
    assert 1.5 in world.data.ctrl
    assert mjrig.register(PushHere) is PushHere
    other = type("PushHere", (PushHere,), {"__module__": "elsewhere", "__qualname__": "PushHere"})
    with refused(
        mjrig.MjrigError,
        f"the component 'PushHere' is {__name__}:{PushHere.__qualname__} already; … "
        f"elsewhere:PushHere …",
    ):
        mjrig.register(other)
    with pytest.raises(mjrig.MjrigError, match=regex("is not a component …")):
        mjrig.register(int)
    with pytest.raises(mjrig.MjrigError, match="the component 'PDController' is "):
        mjrig.register(type("PDController", (PushHere,), {}))
