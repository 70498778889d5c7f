"""Component types by name: ours and a third party's, by the same entry points."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points, version
from pathlib import Path

import pytest

from mjrig.cli.main import main
from mjrig.components import ArticulationController, PDController
from mjrig.core.errors import MjrigError, PropertyError
from mjrig.core.properties import registry
from mjrig.core.properties.component import ActorComponent, Component
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.sim.world import World
from tests.places import THIRD_PARTY
from tests.wording import matches, mentions

ARM = """
<mujoco model="arm">
  <worldbody>
    <body>
      <joint name="elbow" damping="1"/>
      <geom type="capsule" size=".02" fromto="0 0 0 .3 0 0" mass="1"/>
    </body>
  </worldbody>
  <actuator> <motor name="elbow" joint="elbow"/> </actuator>
</mujoco>
"""

SCENE = """\
mjrig: 1
actors:
  - name: arm
    model: arm.xml
    components:
      - type: SpringController
        stiffness: {elbow: 12}
        rest: 0.5
"""


class Packages:
    """Registers components as an installed package would, for one test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def register(self, **values: str) -> None:
        ours = list(entry_points(group=registry.GROUP))
        points = [EntryPoint(n, v, registry.GROUP) for n, v in values.items()]
        self._monkeypatch.setattr(registry, "entry_points", lambda group: [*ours, *points])
        registry.refresh()


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Packages]:
    """The way to register components; it is all forgotten afterwards."""
    with monkeypatch.context() as patch:
        yield Packages(patch)
    registry.refresh()


class Stranger(Component):
    """Registered by some tests: a component that cannot hang on an actor."""


class Renamed(Component):
    """Registered by a test under another name."""


# Our own ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(p.name for p in entry_points(group=registry.GROUP)))
def test_every_entry_point_loads(name: str) -> None:
    cls = registry.get(name, HasProperties)
    assert cls.__name__ == name
    assert issubclass(cls, Component)
    assert cls.__doc__


def test_the_names_are_sorted() -> None:
    assert registry.names() == sorted(registry.names())


def test_a_family_has_its_own_names() -> None:
    assert {"PDController", "PassthroughController"} <= set(registry.names(ArticulationController))
    assert "TrotGait" not in registry.names(ArticulationController)
    assert "TrotGait" in registry.names(ActorComponent)


def test_a_type_is_found_by_name() -> None:
    assert registry.get("PDController", ArticulationController) is PDController


def test_module_of_says_where_a_type_comes_from() -> None:
    assert (
        registry.module_of("PDController")
        == "mjrig.components.controllers.feedback_controllers:PDController"
    )


@pytest.mark.parametrize("base", [HasProperties, Component, ActorComponent])
def test_an_unknown_type_names_the_nearest(base: type[HasProperties]) -> None:
    with pytest.raises(PropertyError) as caught:
        registry.get("PDControler", base)
    assert matches(str(caught.value), "there is no component … 'PDControler'; … 'PDController'?")


def test_an_unknown_type_of_a_family_is_told_the_family() -> None:
    with pytest.raises(PropertyError) as caught:
        registry.get("zzz", ArticulationController)
    known = ", ".join(registry.names(ArticulationController))
    assert matches(str(caught.value), f"there is no articulation … 'zzz'; … {known}")


def test_a_type_of_another_family_is_refused() -> None:
    with pytest.raises(PropertyError) as caught:
        registry.get("TrotGait", ArticulationController)
    known = ", ".join(registry.names(ArticulationController))
    assert matches(str(caught.value), f"'TrotGait' is not a type … {known}")


# Registered for a test --------------------------------------------------------------------------


def test_a_new_entry_point_is_found(installed: Packages) -> None:
    installed.register(Stranger=f"{__name__}:Stranger")
    assert registry.get("Stranger", Component).__name__ == "Stranger"
    assert "Stranger" in registry.names(Component)
    assert "Stranger" not in registry.names(ActorComponent)


def test_two_packages_with_one_name_are_an_error(installed: Packages) -> None:
    installed.register(PDController="other_package:PDController")
    with pytest.raises(MjrigError) as caught:
        registry.names()
    assert matches(
        str(caught.value),
        "two packages register the … 'PDController': "
        "mjrig.components.controllers.feedback_controllers:PDController … "
        "other_package:PDController; …",
    )


def test_one_line_found_twice_is_no_conflict(installed: Packages) -> None:
    """A checkout and its installation may both be on the path."""
    installed.register(
        PDController="mjrig.components.controllers.feedback_controllers:PDController"
    )
    assert registry.get("PDController", Component) is PDController


def test_a_type_that_cannot_be_imported_says_why(installed: Packages) -> None:
    installed.register(Broken="no_such_package:Broken")
    with pytest.raises(MjrigError) as caught:
        registry.get("Broken", Component)
    assert matches(
        str(caught.value),
        "component 'Broken' cannot be loaded … no_such_package:Broken: "
        "ModuleNotFoundError: No … 'no_such_package'",
    )


def test_a_broken_type_leaves_the_others_usable(installed: Packages) -> None:
    installed.register(Broken="no_such_package:Broken")
    assert registry.get("PDController", Component) is PDController


def test_what_is_not_a_component_class_is_refused(installed: Packages) -> None:
    installed.register(Loads="json:loads")
    with pytest.raises(MjrigError) as caught:
        registry.get("Loads", Component)
    assert matches(str(caught.value), "component 'Loads': json:loads is not a …")


def test_a_type_is_registered_under_its_class_name(installed: Packages) -> None:
    installed.register(Alias=f"{__name__}:Renamed")
    with pytest.raises(MjrigError) as caught:
        registry.get("Alias", Component)
    assert matches(
        str(caught.value), f"component 'Alias': {__name__}:Renamed is registered under … 'Renamed'"
    )


# A third party's package ------------------------------------------------------------------------


def can_install() -> bool:
    """Whether packages can be built here: pip, and a setuptools that makes wheels by itself."""
    found = all(importlib.util.find_spec(name) for name in ("pip", "setuptools"))
    return found and int(version("setuptools").partition(".")[0]) >= 77


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example package installed in it."""
    if not can_install():
        pytest.skip("needs pip and setuptools >= 77 (the extra 'dev')")
    source = tmp_path_factory.mktemp("source") / "third_party"  # builds leave traces
    shutil.copytree(THIRD_PARTY, source)
    target = tmp_path_factory.mktemp("site")
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(target)]
    subprocess.run([*command, str(source)], check=True)
    return target


@dataclass
class Result:
    """What a command left behind."""

    returncode: int
    stdout: str
    stderr: str


Mjrig = Callable[..., Result]


@pytest.fixture
def mjrig(
    site: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Mjrig]:
    """`mjrig …` in this process, where the example package can be imported for one test."""

    def run(*arguments: str | Path) -> Result:
        code = main([str(a) for a in arguments])
        return Result(code, *capsys.readouterr())

    with monkeypatch.context() as patch:
        patch.syspath_prepend(str(site))
        registry.refresh()
        yield run
    sys.modules.pop("mjrig_example", None)
    registry.refresh()


def mjrig_process(site: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """`python -m mjrig …` where the example package is installed."""
    environment = {**os.environ, "PYTHONPATH": str(site), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-m", "mjrig", *arguments]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
    )


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    """A scene file that uses the third party's controller."""
    (tmp_path / "arm.xml").write_text(ARM, encoding="utf-8")
    path = tmp_path / "arm.yaml"
    path.write_text(SCENE, encoding="utf-8")
    return path


def test_a_third_partys_component_is_listed(site: Path) -> None:
    result = mjrig_process(site, "components")
    assert (result.returncode, result.stderr) == (0, "")
    (line,) = [line for line in result.stdout.splitlines() if "SpringController" in line]
    assert "mjrig_example:SpringController" in line
    assert line.endswith("τ = −stiffness (q − rest), clamped to ±limit  [N·m or N].")


def test_a_third_partys_properties_and_actions_are_shown(mjrig: Mjrig) -> None:
    lines = mjrig("components", "SpringController").stdout.splitlines()
    rows = [" ".join(line.split()) for line in lines]
    assert "stiffness per_actuator 10 N·m/rad >= 0 N·m/rad Stiffness per actuator." in rows
    assert mentions(rows, "rest float 0 rad Angle without …")
    assert "limit float 20 N·m >= 0 N·m Largest effort." in rows
    assert rows[-2:] == ["slacken(factor: float = 0.5)", "Multiply every stiffness by a factor."]


def test_a_third_partys_component_is_in_the_schema(mjrig: Mjrig) -> None:
    schema = json.loads(mjrig("schema").stdout)
    spring = schema["$defs"]["SpringController"]
    assert {"type", "stiffness", "rest", "limit", "enabled"} <= set(spring["properties"])
    components, _variable = schema["$defs"]["Actor"]["properties"]["components"]["anyOf"]
    component, _variable = components["items"]["anyOf"]
    assert {"$ref": "#/$defs/SpringController"} in component["oneOf"]


def test_a_scene_with_a_third_partys_component_runs(site: Path, scene: Path) -> None:
    result = mjrig_process(
        site, "run", scene, "--duration", "0.2", "--set", "arm.SpringController.limit=9",
        "--call", "arm.SpringController.slacken=0.5",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "arm: 1 actuator, 1 under a controller" in result.stdout.splitlines()


def test_a_third_partys_controller_pulls_towards_its_rest(site: Path, scene: Path) -> None:
    code = (
        "import sys, mjrig\n"
        "world = mjrig.World(mjrig.Scene.load(sys.argv[1]))\n"
        "arm = world['arm']\n"
        "arm.apply_controls()\n"
        "print(*arm.effort)\n"
        "arm.controllers[0].slacken(0.25)\n"
        "arm.apply_controls()\n"
        "print(*arm.effort)\n"
        "arm.controllers[0].limit = 1\n"
        "arm.apply_controls()\n"
        "print(*arm.effort)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(site)}
    command = [sys.executable, "-c", code, str(scene)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (result.stderr, result.stdout.split()) == ("", ["6.0", "1.5", "1.0"])


@pytest.mark.parametrize(
    ("good", "bad", "problem"),
    [
        (
            "{elbow: 12}",
            "{elbow: -12}",
            "7:28: actors[0].components[0].stiffness: "
            "arm.SpringController.stiffness: must be >= 0 N·m/rad, got -12 for 'elbow'",
        ),
        (
            "{elbow: 12}",
            "{elbwo: 12}",
            "7:21: actors[0].components[0].stiffness: arm.SpringController.stiffness: "
            "'elbwo' matches no actuator or joint of 'arm'; did you mean 'elbow'?",
        ),
        (
            "rest: 0.5",
            "rest: half",
            "8:15: actors[0].components[0].rest: "
            "arm.SpringController.rest: must be a number, got 'half'",
        ),
        (
            "rest: 0.5",
            "rset: 0.5",
            "8:9: actors[0].components[0].rset: "
            "SpringController has no property 'rset'; did you mean 'rest'?",
        ),
    ],
)
def test_a_bad_value_for_a_third_party_is_one_line_with_its_place(
    mjrig: Mjrig, scene: Path, good: str, bad: str, problem: str
) -> None:
    scene.write_text(SCENE.replace(good, bad), encoding="utf-8")
    result = mjrig("run", scene, "--duration", "0.1")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.splitlines() == [f"mjrig: {scene}:{problem}"]


# A third party's law and clamp -------------------------------------------------------------------

PARTS = """\
mjrig: 1
actors:
  - name: arm
    model: arm.xml
    components:
      - type: {controller}
        {law}
        clamps:
          - {{type: Derate, share: 0.5, rated: {{elbow: 4}}}}
"""
LAW = "law: {type: CubicSpring, stiffness: 30}"


@pytest.mark.parametrize(
    ("controller", "law"),
    [("LawController", LAW), ("PDController", LAW), ("PDController", "kp: 50")],
)
def test_a_third_partys_law_and_clamp_work_under_any_controller(
    mjrig: Mjrig, tmp_path: Path, controller: str, law: str
) -> None:
    (tmp_path / "arm.xml").write_text(ARM, encoding="utf-8")
    path = tmp_path / "arm.yaml"
    path.write_text(PARTS.format(controller=controller, law=law), encoding="utf-8")
    world = World(path)
    robot = world["arm"]
    robot.set_targets(1.0)
    world.step()
    raw = 30.0 if "Cubic" in law else 50.0
    assert world.execution == "python"
    assert (robot.raw_effort.round(6).tolist(), robot.effort.tolist()) == ([raw], [2.0])


def test_check_says_why_a_third_partys_parts_are_not_lowered(mjrig: Mjrig, tmp_path: Path) -> None:
    (tmp_path / "arm.xml").write_text(ARM, encoding="utf-8")
    path = tmp_path / "arm.yaml"
    path.write_text(PARTS.format(controller="LawController", law=LAW), encoding="utf-8")
    result = mjrig("check", path)
    assert result.returncode == 0
    assert mentions(
        result.stdout,
        "arm.LawController runs as python: not … MuJoCo … CubicSpring; MuJoCo … Derate "
        "… CubicSpring … Python … Derate … Python …",
    )


def test_a_bad_value_in_a_third_partys_clamp_has_its_place(mjrig: Mjrig, tmp_path: Path) -> None:
    (tmp_path / "arm.xml").write_text(ARM, encoding="utf-8")
    path = tmp_path / "arm.yaml"
    text = PARTS.format(controller="LawController", law=LAW).replace("share: 0.5", "share: 1.5")
    path.write_text(text, encoding="utf-8")
    result = mjrig("check", path)
    assert result.returncode == 1
    assert result.stderr == (
        f"mjrig: {path}:9:35: actors[0].components[0].clamps[0].share: "
        "arm.LawController.clamps[0].share: must be <= 1, got 1.5\n"
    )
