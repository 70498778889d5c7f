"""Export: bare MuJoCo does what the native world does."""

import json
import os
import re
import struct
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.cli.main import main
from mjrig.components import PDController
from mjrig.core.errors import ExecutionError
from mjrig.core.sim.mujoco_export import export
from tests.campaign import amount
from tests.places import ROOT
from tests.wording import matches, regex
from tests.worlds import refused

STATE = mujoco.mjtState.mjSTATE_INTEGRATION
LEGS = """\
mjrig: 1
actors:
  - name: dog
    model: legs.xml
    keyframe: home
    components:
      - {type: PDController, kp: 10}
"""
TABLE = "{type: PositionTable, positions: [0, 1], efforts: [5, 3]}"
TABLE_REASON = "MuJoCo has no actuator limit that does what PositionTable does"
#: A free base, a geared arm with a joint range, a tendon, an equality, sensors and mesh files.
CRAWLER = """
<mujoco>
  <compiler angle="radian" meshdir="meshes" texturedir="textures"/>
  <option timestep="0.001"/>
  <default>
    <geom material="paint"/>
    <tendon material="paint"/>
    <motor ctrlrange="-5 5"/>
  </default>
  <asset>
    <texture name="red" type="2d" file="red.png"/>
    <material name="paint" texture="red"/>
    <mesh name="hull" file="tetra.stl" scale="2 2 2"/>
    <mesh name="claw" file="tetra.stl"/>
  </asset>
  <worldbody>
    <body name="base" pos="0 0 1">
      <freejoint name="root"/>
      <geom type="mesh" mesh="hull"/>
      <body name="upper" pos="0.2 0 0">
        <joint name="lift" axis="0 1 0" range="-1.2 0.7" limited="true" damping="0.1"/>
        <geom type="mesh" mesh="claw"/>
        <body name="lower" pos="0.1 0 0">
          <joint name="grip" axis="0 0 1" damping="0.1"/>
          <geom type="mesh" mesh="claw"/>
          <site name="tip"/>
        </body>
      </body>
    </body>
  </worldbody>
  <tendon><fixed name="cable"><joint joint="lift" coef="1"/></fixed></tendon>
  <equality><joint joint1="grip" joint2="lift" polycoef="0 0.5 0 0 0"/></equality>
  <actuator>
    <motor name="lift" joint="lift" gear="3"/>
    <motor name="grip" joint="grip"/>
    <position name="pull" tendon="cable" kp="3"/>
  </actuator>
  <sensor><framepos objtype="site" objname="tip"/></sensor>
  <keyframe>
    <key name="home" qpos="0 0 1 1 0 0 0 0.1 0.05" ctrl="0 0 0.2"/>
    <key name="reach" qpos="0 0 2 1 0 0 0 0.3 0.15"/>
  </keyframe>
</mujoco>
"""
TWO = """\
mjrig: 1
actors:
  - name: a
    model: robots/crawler.xml
    keyframe: home
    components:
      - {type: PIDController, kp: 3.3, ki: {lift: 5, default: 0}, integral_max: 0.1}
  - name: b
    model: robots/crawler.xml
    pose: {position: [2, 0, 0]}
    keyframe: home
    components:
      - {type: PDController, actuators: lift|grip, kp: 7.7, clamp_targets: true, delay: {steps: 3}}
      - {type: PassthroughController, actuators: pull}
"""
Output = pytest.CaptureFixture[str]


def bundled(name: str) -> Path:
    return Path(str(files("mjrig.config").joinpath("scenes").joinpath(f"{name}.yaml")))


def scene(text: str, base: Path) -> mjrig.Scene:
    return mjrig.Scene.parse(text, base=base)


@pytest.fixture
def crawlers(tmp_path: Path) -> mjrig.Scene:
    """Two crawlers, whose model has a mesh and a texture beside it."""
    corners = np.array([[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]], dtype=np.float32)
    stl = b"\0" * 80 + struct.pack("<I", 4)
    for face in ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)):
        stl += struct.pack("<12fH", 0, 0, 0, *corners[list(face)].ravel(), 0)
    robots = tmp_path / "robots"
    for folder in ("meshes", "textures"):
        (robots / folder).mkdir(parents=True)
    (robots / "crawler.xml").write_text(CRAWLER)
    (robots / "meshes" / "tetra.stl").write_bytes(stl)
    pixel = (
        "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
        "0000000c49444154789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
    )
    (robots / "textures" / "red.png").write_bytes(bytes.fromhex(pixel))
    return scene(TWO, tmp_path)


def loader() -> str:
    """The loader that the page on export prints."""
    page = ROOT / "docs" / "export.md"
    if not page.exists():
        pytest.skip("no checkout beside the tests")
    (code,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return str(code)


def load(path: Path) -> tuple[Any, Any]:
    """A model and its start, by the loader of the documentation."""
    names: dict[str, Any] = {}
    exec(loader().replace('Path("dog.xml")', f"Path({str(path)!r})"), names)
    return names["model"], names["data"]


def state(model: Any, data: Any) -> Any:
    found = np.empty(mujoco.mj_stateSize(model, STATE))
    mujoco.mj_getState(model, data, found, STATE)
    return found


def first_input(model: Any, actuator: str) -> int:
    return int(model.actuator_ctrladr[model.actuator(actuator).id])


def deviation(world: mjrig.World, model: Any, data: Any, steps: int) -> float:
    """The largest difference in qpos while both follow moving targets."""
    seeds = [robot.setpoints.position.copy() for robot in world.articulations.values()]
    worst = travelled = 0.0
    begin = world.data.qpos.copy()
    for k in range(steps):
        for robot, seed in zip(world.articulations.values(), seeds, strict=True):
            waves = 1.0 + np.arange(len(seed)) / 7.0
            robot.setpoints.position[:] = seed + 0.2 * np.sin(0.011 * k * waves)
            robot.setpoints.velocity[:] = 0.01 * k / steps
        world.step()
        data.ctrl[:] = world.data.ctrl
        mujoco.mj_step(model, data)
        worst = max(worst, float(abs(world.data.qpos - data.qpos).max()))
        travelled = max(travelled, float(abs(world.data.qpos - begin).max()))
    assert travelled > 0.05  # otherwise nothing was compared
    return worst


# The same physics -------------------------------------------------------------------------------


@pytest.mark.campaign
@pytest.mark.parametrize(
    "name",
    [
        "pendulum",
        "quadruped",
        "arm",
        "humanoid",
        "bench_pid",
        "bench_delay",
        "bench_dc",
        "workcell",
    ],
)
def test_an_mjb_runs_with_the_bits_of_the_native_world(tmp_path: Path, name: str) -> None:
    assert export(mjrig.Scene.load(bundled(name)), tmp_path / "dog.mjb") == []
    world = mjrig.World(bundled(name), "native")
    model, data = load(tmp_path / "dog.mjb")
    assert deviation(world, model, data, amount(400, 5000)) == 0.0
    assert np.array_equal(state(model, data), state(world.model, world.data))


@pytest.mark.parametrize("name", ["pendulum", "quadruped", "arm", "bench_delay", "workcell"])
def test_an_xml_stays_close_to_the_native_world(tmp_path: Path, name: str) -> None:
    assert export(mjrig.Scene.load(bundled(name)), tmp_path / "dog.xml") == []
    world = mjrig.World(bundled(name), "native")
    model, data = load(tmp_path / "dog.xml")
    assert deviation(world, model, data, round(0.5 / world.timestep)) < 1e-9
    for field in ("biasprm", "gainprm", "forcerange", "delay", "gear"):
        ours, theirs = (getattr(m, f"actuator_{field}") for m in (world.model, model))
        assert np.array_equal(ours, theirs), field
    assert model.opt.timestep == world.timestep


def test_the_materials_of_a_models_defaults_are_found_again(tmp_path: Path) -> None:
    export(mjrig.Scene.load(bundled("humanoid")), tmp_path / "h.xml")
    world = mjrig.World(bundled("humanoid"))
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "h.xml"))
    assert np.array_equal(model.tendon_matid, world.model.tendon_matid)
    assert np.array_equal(model.geom_matid, world.model.geom_matid)
    assert np.array_equal(model.mat_rgba, world.model.mat_rgba)
    assert np.array_equal(model.body_inertia, world.model.body_inertia)


@pytest.mark.parametrize("suffix", [".mjb", ".xml"])
def test_several_actors_run_together(crawlers: mjrig.Scene, tmp_path: Path, suffix: str) -> None:
    assert export(crawlers, tmp_path / f"two{suffix}") == []
    world = mjrig.World(crawlers, "native")
    model, data = load(tmp_path / f"two{suffix}")
    assert (model.nsensor, model.neq, model.ntendon) == (2, 2, 2)
    assert deviation(world, model, data, 600) <= (0.0 if suffix == ".mjb" else 1e-6)


def test_the_loader_of_the_documentation_runs_as_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export(mjrig.Scene.load(bundled("bench_delay")), tmp_path / "dog.xml")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(compile(loader(), "docs/export.md", "exec"), names)
    world = mjrig.World(bundled("bench_delay"), "native")
    mujoco.mj_step(names["model"], names["data"])
    world.step()
    assert np.array_equal(names["data"].qpos, world.data.qpos)
    assert np.array_equal(names["data"].history, world.data.history)


def test_clamped_targets_become_the_range_of_the_position_input(
    crawlers: mjrig.Scene, tmp_path: Path
) -> None:
    export(crawlers, tmp_path / "two.mjb")
    model, data = load(tmp_path / "two.mjb")
    world = mjrig.World(crawlers, "native")
    first = first_input(model, "b/lift")
    assert model.actuator_ctrllimited[first : first + 3].tolist() == [True, False, False]
    assert model.actuator_ctrlrange[first].tolist() == [3 * -1.2, 3 * 0.7]
    for k in range(300):
        target = 2.0 if k else 0.1  # the first command also fills the delay buffer
        world["b"].set_targets({"lift": target})
        world.step()
        data.ctrl[:] = world.data.ctrl
        data.ctrl[first] = 3 * target
        mujoco.mj_step(model, data)
    assert np.array_equal(data.qpos, world.data.qpos)
    assert (world.data.ctrl[first], data.ctrl[first]) == (3 * 0.7, 6.0)


# Keyframes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".mjb", ".xml"])
def test_the_start_is_the_world_after_a_reset(
    crawlers: mjrig.Scene, tmp_path: Path, suffix: str
) -> None:
    export(crawlers, tmp_path / f"two{suffix}")
    model, data = load(tmp_path / f"two{suffix}")
    world = mjrig.World(crawlers, "native")
    for robot in world.articulations.values():
        robot.apply_controls()
    for field in ("qpos", "qvel", "ctrl"):
        assert np.array_equal(getattr(data, field), getattr(world.data, field)), field
    first = first_input(model, "a/lift")
    assert data.ctrl[first : first + 3].tolist() == [3 * 0.1, 0.0, 0.0]  # gear times target
    pull = first_input(model, "a/pull")
    assert data.ctrl[pull] == 0.2


def test_each_actor_brings_its_keyframes_at_its_own_place(
    crawlers: mjrig.Scene, tmp_path: Path
) -> None:
    export(crawlers, tmp_path / "two.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "two.xml"))
    names = [model.key(k).name for k in range(model.nkey)]
    assert names == ["a/home", "a/reach", "b/home", "b/reach", "start"]
    reach = model.key("b/reach")
    assert reach.qpos[:9].tolist() == model.key("start").qpos[:9].tolist()
    assert reach.qpos[9:].tolist() == [2, 0, 2, 1, 0, 0, 0, 0.3, 0.15]
    first = first_input(model, "b/lift")
    assert reach.ctrl[first] == 3 * 0.3


def test_an_integral_without_a_gain_has_no_activation_in_xml(
    crawlers: mjrig.Scene, tmp_path: Path
) -> None:
    for suffix, activations in ((".xml", [1, 0, 0]), (".mjb", [1, 1, 0])):
        export(crawlers, tmp_path / f"two{suffix}")
        model, _ = load(tmp_path / f"two{suffix}")
        assert model.actuator_actnum[:3].tolist() == activations


# Files ------------------------------------------------------------------------------------------


def test_an_xml_with_meshes_loads_from_another_folder(
    crawlers: mjrig.Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    export(crawlers, out / "two.xml")
    found = sorted(p.relative_to(out).as_posix() for p in out.rglob("*"))
    assert found == [
        "two.json", "two.xml", "two_assets", "two_assets/red.png", "two_assets/tetra.stl",
    ]  # fmt: skip
    (tmp_path / "robots").rename(tmp_path / "gone")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    model = mujoco.MjModel.from_xml_path(os.path.join("..", "out", "two.xml"))
    assert (model.nmesh, model.ntex) == (2, 1)  # those of the first, shared


def test_files_of_the_same_name_are_kept_apart(tmp_path: Path, crawlers: mjrig.Scene) -> None:
    other = tmp_path / "others" / "meshes"
    other.mkdir(parents=True)
    stl = bytearray((tmp_path / "robots" / "meshes" / "tetra.stl").read_bytes())
    stl[84:] = stl[84:].replace(struct.pack("<f", 0.1), struct.pack("<f", 0.3))
    (other / "tetra.stl").write_bytes(bytes(stl))
    model = (tmp_path / "robots" / "crawler.xml").read_text()
    texture = str(tmp_path / "robots" / "textures")
    (tmp_path / "others" / "crawler.xml").write_text(model.replace("textures", texture))
    crawlers["b"].model = Path("others/crawler.xml")
    export(crawlers, tmp_path / "two.xml")
    found = {p.name for p in (tmp_path / "two_assets").iterdir()}
    assert found == {"red.png", "tetra.stl", "tetra_2.stl"}
    read = mujoco.MjModel.from_xml_path(str(tmp_path / "two.xml"))
    world = mjrig.World(crawlers)
    assert np.allclose(read.body_mass, world.model.body_mass, rtol=1e-12)


def test_a_failed_export_leaves_what_was_there(models: Path) -> None:
    bad = scene(LEGS.replace("kp: 10", f"clamps: [{TABLE}]"), models)
    for name in ("dog.xml", "dog.json"):
        (models / name).write_text("old")
    before = sorted(models.iterdir())
    with pytest.raises(ExecutionError):
        export(bad, models / "dog.xml")
    assert sorted(models.iterdir()) == before
    assert (models / "dog.xml").read_text() == (models / "dog.json").read_text() == "old"


def test_xml_that_does_not_read_back_is_not_kept(
    models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mjrig.core.sim.mujoco_export._shortest", lambda text, kind: "?" + text)
    with pytest.raises(ExecutionError, match="^" + regex("MuJoCo does not read the XML …; …")):
        export(scene(LEGS, models), models / "dog.xml")
    assert sorted(p.name for p in models.iterdir()) == ["hinge.xml", "legs.xml"]


def test_xml_that_reads_back_with_other_masses_is_not_kept(
    models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose_mass(root: Any) -> None:
        for inertial in root.iter("inertial"):
            inertial.set("mass", "7")

    monkeypatch.setattr("mjrig.core.sim.mujoco_export._keep_length_ranges", lose_mass)
    target = models / "out.xml"
    with pytest.raises(ExecutionError, match=regex("reads another body_mass from the XML …")):
        export(scene(LEGS, models), target)
    assert not target.exists()


def test_a_mujoco_without_the_switch_for_digits_is_noted(
    models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mjrig.core.sim.mujoco_export.ctypes.CDLL", lambda name: None)
    note = "the numbers in this file have six digits: this MuJoCo writes no more"
    assert export(scene(LEGS, models), models / "dog.xml") == [note]
    assert json.loads((models / "dog.json").read_text())["notes"] == [note]


def test_the_digits_of_other_xml_are_left_alone(models: Path) -> None:
    spec = mujoco.MjSpec.from_string('<mujoco><option timestep="0.0012345678"/></mujoco>')
    export(scene(LEGS, models), models / "dog.xml")
    assert 'timestep="0.00123457"' in spec.to_xml()


# What has no MuJoCo form ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (f"clamps: [{TABLE}]", TABLE_REASON),
        ("decimation: 2", "it runs every 2 steps, … MuJoCo …"),
        ("delay: {random: [0, 2]}", "a random delay is … Python"),
        ("precision: float32", "MuJoCo computes in float64"),
        ("effort: implicit", "effort: implicit solves in Python"),
    ],
)
def test_what_has_no_form_is_named_with_the_reason(models: Path, given: str, reason: str) -> None:
    with pytest.raises(ExecutionError) as caught:
        export(scene(LEGS.replace("kp: 10", given), models), models / "dog.mjb")
    assert matches(
        str(caught.value), f"dog.PDController cannot be exported: {reason}; --partial leaves it out"
    )


def test_an_integrator_that_would_change_the_law_is_refused(models: Path) -> None:
    text = LEGS + "sim: {integrator: implicitfast}\n"
    with pytest.raises(ExecutionError, match=regex("under implicitfast MuJoCo would integrate …")):
        export(scene(text, models), models / "dog.mjb")
    wanted = text.replace("fast}", "fast, actuation: implicit}")
    assert export(scene(wanted, models), models / "dog.mjb") == []


def test_a_component_that_moves_setpoints_is_refused(tmp_path: Path) -> None:
    trot = mjrig.Scene.load(bundled("quadruped_trot"))
    with pytest.raises(ExecutionError) as caught:
        export(trot, tmp_path / "trot.mjb")
    reason = "it moves setpoints in Python, before every step"
    assert matches(
        str(caught.value), f"quadruped.TrotGait cannot be exported: {reason}; --partial leaves …"
    )
    notes = export(trot, tmp_path / "trot.mjb", partial=True)
    assert notes == [f"quadruped.TrotGait is not in this file: {reason}"]
    standing = mujoco.MjModel.from_binary_path(str(tmp_path / "trot.mjb")).key("start").ctrl
    assert standing[:9].tolist() == [0.0, 0.0, 0.0, 0.8, 0.0, 0.0, -1.6, 0.0, 0.0]


def test_partial_leaves_plain_motors_and_says_so(models: Path) -> None:
    text = LEGS.replace(
        "{type: PDController, kp: 10}",
        f"{{type: PDController, actuators: left.*, clamps: [{TABLE}]}}\n"
        "      - {type: PDController, actuators: right.*, kp: 10}",
    )
    notes = export(scene(text, models), models / "dog.xml", partial=True)
    assert notes == [f"dog.PDController is not in this file: {TABLE_REASON}"]
    assert json.loads((models / "dog.json").read_text())["notes"] == notes
    written = (models / "dog.xml").read_text()
    assert f"<!-- mjrig: {notes[0]} -->" in written
    model, data = load(models / "dog.xml")
    assert model.actuator_ctrlnum.tolist() == [1, 1, 3, 3, 1]
    assert data.ctrl.tolist() == [0, 0, 0.3, 0, 0, 0.4, 0, 0, 0]


def test_a_disabled_controller_is_exported_as_what_it_does(models: Path) -> None:
    off = scene(LEGS.replace("kp: 10", "enabled: false"), models)
    (note,) = export(off, models / "dog.mjb")
    assert matches(note, "dog.PDController is not in this …")
    world = mjrig.World(off, "python")
    model, data = load(models / "dog.mjb")
    for _ in range(100):
        world.step()
        mujoco.mj_step(model, data)
    assert np.array_equal(data.qpos, world.data.qpos)


def test_a_controller_that_owns_nothing_is_no_reason_to_refuse(models: Path) -> None:
    text = (models / "legs.xml").read_text()
    (models / "legs.xml").write_text(re.sub("<actuator>.*</actuator>", "", text, flags=re.DOTALL))
    for suffix in (".xml", ".mjb"):
        assert export(scene(LEGS, models), models / f"dog{suffix}") == []
        assert load(models / f"dog{suffix}")[0].nu == 0


def test_a_world_is_exported_as_it_is_set_now(models: Path) -> None:
    world = mjrig.World(scene(LEGS, models), "python")
    dog = world["dog"]
    dog.part("pd").property_named("kp").assign(dog.part("pd"), 77)
    world.step(10)
    export(world, models / "dog.mjb")
    model, data = load(models / "dog.mjb")
    assert model.actuator_biasprm[:4, 1].tolist() == [-77.0] * 4
    assert data.qpos.tolist() == [0.1, 0.2, 0.3, 0.4]
    dog.remove_component(dog.components[0])
    dog.add_component(PDController(actuators="left.*", kp=5))
    export(world, models / "dog.mjb")
    model, _ = load(models / "dog.mjb")
    assert model.actuator_ctrlnum.tolist() == [3, 3, 1, 1, 1]


def test_exporting_a_world_leaves_it_alone(models: Path) -> None:
    world = mjrig.World(scene(LEGS, models))
    world.step(7)
    before = state(world.model, world.data)
    export(world, models / "dog.xml")
    assert np.array_equal(state(world.model, world.data), before)
    assert world.steps == 7


# The command ------------------------------------------------------------------------------------


@pytest.fixture
def legs(models: Path) -> Callable[..., int]:
    """`mjrig export` of the legs scene."""
    (models / "s.yaml").write_text(LEGS)
    return lambda *arguments: main(["export", str(models / "s.yaml"), *arguments])


def test_the_command_says_what_it_wrote(
    capsys: Output, models: Path, legs: Callable[..., int]
) -> None:
    assert legs("-o", str(models / "dog.xml"), "--set", "dog.PDController.kp=33") == 0
    captured = capsys.readouterr()
    assert captured.out == f"{models / 'dog.xml'} and dog.json written\n"
    assert captured.err == ""
    assert 'biasprm="0 -33 -5"' in (models / "dog.xml").read_text()


def test_the_command_puts_notes_on_stderr(
    capsys: Output, models: Path, legs: Callable[..., int]
) -> None:
    slow = ("-o", str(models / "dog.mjb"), "--set", "dog.PDController.decimation=4")
    assert legs(*slow) == 1
    reason = "it runs every 4 steps, a MuJoCo actuator every step"
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        f"mjrig: dog.PDController cannot be exported: {reason}; --partial leaves it out\n"
    )
    assert legs(*slow, "--partial") == 0
    note = f"dog.PDController is not in this file: {reason}"
    assert capsys.readouterr().err == f"mjrig: {note}\n"
    assert json.loads((models / "dog.json").read_text())["notes"] == [note]


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        ("dog.urdf", "must end in .xml or .mjb"),
        ("dog", "must end in .xml or .mjb"),
        ("folder.xml", "cannot be written"),
    ],
)
def test_a_file_that_cannot_be_is_refused(
    capsys: Output, models: Path, legs: Callable[..., int], output: str, problem: str
) -> None:
    (models / "folder.xml").mkdir()
    assert legs("-o", str(models / output)) == 1
    assert capsys.readouterr().err == f"mjrig: {models / output}: {problem}\n"


def test_a_folder_that_does_not_exist_is_made_by_the_command_only(
    capsys: Output, models: Path, legs: Callable[..., int]
) -> None:
    file = models / "no" / "dog.xml"
    expected = f"{file}: the folder {str(models / 'no')!r} does not …"
    with refused(ExecutionError, expected):
        export(mjrig.Scene(), file)
    with refused(ExecutionError, f"{models / 'a.urdf'}: export to a file … .xml … .mjb"):
        export(mjrig.Scene(), models / "a.urdf")
    assert legs("-o", str(file)) == 0
    assert file.is_file()
