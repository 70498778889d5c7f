"""What the documents show works as printed."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mjrig.cli.main import main
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from tests.places import ROOT
from tests.worlds import arm

pytestmark = pytest.mark.skipif(
    not (ROOT / "README.md").exists(), reason="no checkout beside the tests"
)


def blocks(document: str, language: str) -> list[str]:
    """The fenced blocks of one language in a document."""
    text = (ROOT / document).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def test_the_readme_example_runs_as_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    (example,) = blocks("README.md", "python")
    assert len(example.splitlines()) == 12
    exec(compile(example, "README.md", "exec"), {})
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("FL_hip")
    assert out[-1].startswith("trunk at 0.2")
    assert out[-1].endswith("after 1 s")


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    """The controller of docs/extending.md as printed, as `gravity.py` beside a scene of an arm."""
    source = blocks("docs/extending.md", "python")[0]
    assert len(source.split("class ")[1].splitlines()) <= 25
    assert len(re.findall(r"^(?:from|import) ", source, flags=re.MULTILINE)) == 2
    (tmp_path / "gravity.py").write_text(source)
    (tmp_path / "arm.xml").write_text(arm(option=""))
    components = blocks("docs/extending.md", "yaml")[0].replace(".*_hip", "shoulder")
    indented = "".join(f"    {line}\n" for line in components.splitlines())
    (tmp_path / "scene.yaml").write_text(
        f"mjrig: 1\nactors:\n  - name: arm\n    model: arm.xml\n{indented}"
    )
    return tmp_path


def test_the_extending_example_holds_an_arm_against_gravity(beside: Path) -> None:
    def sag(**values: object) -> float:
        scene = Scene.load(beside / "scene.yaml", trust=True)
        for name, value in values.items():
            scene.set(f"arm.GravityController.{name}", value)
        world = World(scene)
        world.step(2000)
        return float(np.abs(world.data.qpos).max())

    assert sag() < 1e-6
    assert sag(compensate=False) > 0.02
    assert sag(limit=0.1) > 0.2


def test_the_extending_example_runs_from_the_command_line(
    beside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = str(beside / "scene.yaml")
    assert main(["run", scene, "--duration", "0.01"]) == 1
    assert "pass --trust" in capsys.readouterr().err
    assert main(["run", scene, "--duration", "0.01", "--trust"]) == 0


def test_the_extending_example_can_be_registered(
    beside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mjrig.core.properties.registry._registered", {})
    names: dict[str, Any] = {"__name__": "notebook"}
    for example in blocks("docs/extending.md", "python"):
        exec(compile(example, "docs/extending.md", "exec"), names)
    text = (beside / "scene.yaml").read_text().replace("gravity:Gra", "Gra")
    world = World(Scene.parse(text, beside))
    world.step()
    assert type(world["arm"].controllers[0]) is names["GravityController"]


def test_the_pyproject_of_the_extending_page_registers_the_class() -> None:
    said = tomllib.loads(blocks("docs/extending.md", "toml")[0])
    points = said["project"]["entry-points"]["mjrig.components"]
    assert points == {"GravityController": "gravity:GravityController"}
    assert said["tool"]["setuptools"]["py-modules"] == ["gravity"]


def test_the_package_of_the_extending_page_is_used_by_its_type_name(
    beside: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Installed as its pyproject says: the module, and beside it what `pip` writes about it."""
    said = tomllib.loads(blocks("docs/extending.md", "toml")[0])
    site = tmp_path_factory.mktemp("site")
    (module,) = said["tool"]["setuptools"]["py-modules"]
    (beside / f"{module}.py").rename(site / f"{module}.py")
    project = said["project"]
    about = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    groups = project["entry-points"].items()
    (about / "entry_points.txt").write_text(
        "".join(f"[{g}]\n" + "".join(f"{k} = {v}\n" for k, v in ps.items()) for g, ps in groups)
    )
    scene = beside / "scene.yaml"
    scene.write_text(scene.read_text().replace("gravity:Gra", "Gra"))
    script = (
        "import sys; from mjrig.cli.main import main; "
        "sys.exit(main(['components', 'GravityController']) or "
        "main(['run', sys.argv[1], '--duration', '0.01']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(scene)],
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "compensate" in done.stdout and "GravityController" in done.stdout


def test_the_example_of_a_prop_fills_a_spec() -> None:
    (example,) = blocks("docs/models.md", "python")
    names: dict[str, Any] = {}
    exec(compile(example, "docs/models.md", "exec"), names)
    spec = names["mujoco"].MjSpec()
    names["PostProp"](height=2.0).fill(spec)
    assert spec.compile().geom("geom").size.tolist() == [0.03, 1.0, 0.0]


def test_the_actuation_examples_run_as_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for example in blocks("docs/actuation.md", "python"):
        exec(compile(example, "docs/actuation.md", "exec"), {})


def test_the_reference_page_is_up_to_date() -> None:
    written = (ROOT / "docs/reference.md").read_text(encoding="utf-8")
    # In a new process: other tests register types of their own in this one.
    command = [sys.executable, "-m", "mjrig", "components", "--reference"]
    page = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout
    assert written == page, "run: mjrig components --reference > docs/reference.md"


def _scene_examples() -> list[tuple[str, str]]:
    """(file name or empty, text) of the YAML on the page about scenes."""
    text = (ROOT / "docs/scenes.md").read_text(encoding="utf-8") if ROOT.exists() else ""
    return re.findall(r"```yaml ?([^\n]*)\n(.*?)```", text, flags=re.DOTALL)


def test_every_scene_of_the_page_about_scenes_loads_and_runs(tmp_path: Path) -> None:
    from mjrig.core.scene.editing.scene import Scene
    from mjrig.core.sim.world import World

    examples = _scene_examples()
    assert len(examples) >= 10
    for name, text in examples:
        if name:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8")
    for _, text in examples:
        scene = Scene.parse(text, tmp_path)
        world = World(scene)
        world.step(20)
        assert not world.events
        assert scene.to_text() == text


def test_the_program_of_the_page_about_scenes_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from mjrig.core.scene.editing.scene import Scene

    monkeypatch.chdir(tmp_path)
    (example,) = blocks("docs/scenes.md", "python")
    exec(compile(example, "docs/scenes.md", "exec"), {})
    assert "actuator 'extra' of 'left'" in capsys.readouterr().out
    scene = Scene.load("left.yaml")
    assert [a.name for a in scene.actors] == ["left"]
    assert not scene["left"].actuators
