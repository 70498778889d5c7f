"""A model file where a scene goes."""

import json
import random
import shutil
from pathlib import Path

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.cli.main import main
from tests.campaign import Tally
from tests.wording import matches, mentions, regex

ARM = """<mujoco model="arm">
  <worldbody>
    <body name="link">
      <joint name="j" axis="0 1 0" damping="0.1"/>
      <geom size=".1" pos=".3 0 0"/>
    </body>
  </worldbody>
  <actuator><position name="servo" joint="j" kp="20" kv="1"/></actuator>
</mujoco>
"""
URDF = """<robot name="r"><link name="base"/><link name="l"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="revolute"><parent link="base"/><child link="l"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="5" velocity="3"/></joint></robot>
"""
SCENE = "mjrig: 1\nactors:\n  - {name: dog, model: arm.xml}\n"

# What a file is ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["arm.xml", "arm.XML", "arm.mjcf", "arm.MJCF", "arm", "arm.urdf"])
@pytest.mark.parametrize("text", [ARM, URDF, f"\ufeff\n<!-- a <b> -->\n{ARM}"])
def test_a_model_is_a_scene_with_that_actor(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    scene = mjrig.Scene.load(tmp_path / name)
    assert [a.name for a in scene.actors] == ["arm"]
    assert scene.path is None and scene.model_file == tmp_path / name
    assert mjrig.World(str(tmp_path / name))["arm"].model_map.joint_ids.tolist() == [0]


@pytest.mark.parametrize("name", ["s.yaml", "s.xml", "s", "s.URDF", "s.txt"])
def test_a_scene_is_one_whatever_its_name(tmp_path: Path, name: str) -> None:
    (tmp_path / "arm.xml").write_text(ARM)
    (tmp_path / name).write_text(SCENE)
    scene = mjrig.Scene.load(tmp_path / name)
    assert [a.name for a in scene.actors] == ["dog"] and scene.model_file is None
    scene.save()
    assert (tmp_path / name).read_text() == SCENE


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.xml", b"<html></html>", "is no model: its … <html>, … <mujoco> …"),
        ("a.xml", b"<mujocoinclude/>", "is a fragment that MJCF …"),
        ("a.yaml", ARM.encode(), "holds a MuJoCo model (XML), despite …"),
        ("a.mjb", ARM.encode(), "holds a MuJoCo model (XML), despite …"),
        ("a.mjb", b"\0\1\2\3", "is not a compiled MuJoCo …"),
        ("a.xml", b"1\xd4\0\0rest", "holds a compiled model, …"),
        ("a.h5", b"\x89HDF\r\n\x1a\n", "is a recording, not … `mjrig info` …"),
        ("a.xml", b"hello", "a scene is a … 'mjrig: 1' … 'actors'"),
        ("a.xml", b"", "a scene is a … 'mjrig: 1' … 'actors'"),
        ("a", b"\xff\xfe\0", "not UTF-8 text"),
    ],
)
def test_what_is_neither_is_said(tmp_path: Path, name: str, content: bytes, problem: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(mjrig.SceneError) as info:
        mjrig.Scene.load(tmp_path / name)
    assert matches(str(info.value), f"{tmp_path / name}:1:1: {problem}…")


def test_what_is_wrong_with_a_model_has_its_file(tmp_path: Path) -> None:
    file = tmp_path / "arm.xml"
    file.write_text(ARM.replace('joint="j" kp', 'joint="k" kp'))
    with pytest.raises(mjrig.SceneError) as info:
        mjrig.World(file)
    assert str(info.value).startswith(f"{file}:1:1: ") and str(info.value).count(str(file)) == 1
    with pytest.raises(mjrig.SceneError, match=regex("a model has no …")):
        mjrig.Scene.load(file, vars={"kp": 3})


@pytest.mark.parametrize(
    ("stem", "name"), [("world", "world_2"), ("sim", "sim_2"), ("1 ü", "_1_u")]
)
def test_names_of_actors_begin_no_other_path(tmp_path: Path, stem: str, name: str) -> None:
    (tmp_path / f"{stem}.xml").write_text(ARM)
    assert mjrig.Scene.load(tmp_path / f"{stem}.xml").actors[0].name == name


def test_included_files_are_found_whatever_the_suffix(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "leg.xml").write_text("<mujocoinclude><geom size='.1'/></mujocoinclude>")
    body = "<body><joint name='j'/><include file='parts/leg.xml'/></body>"
    for name in ("a.mjcf", "a.XML", "a"):
        (tmp_path / name).write_text(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
        assert mjrig.World(tmp_path / name).model.ngeom == 1


# Writing ----------------------------------------------------------------------------------------


def test_a_scene_never_replaces_a_model(tmp_path: Path) -> None:
    file = tmp_path / "arm.xml"
    file.write_text(ARM)
    scene = mjrig.Scene.load(file)
    for target in (None, file, tmp_path / "new.xml", tmp_path / "new.MJB"):
        with pytest.raises(mjrig.SceneError, match=regex("a file of its …")):
            scene.save(target)
    assert [p.name for p in tmp_path.iterdir()] == ["arm.xml"] and file.read_text() == ARM


def test_a_saved_scene_finds_its_model_from_any_folder(tmp_path: Path) -> None:
    (tmp_path / "robots").mkdir()
    (tmp_path / "robots" / "arm.xml").write_text(ARM)
    for folder in ("robots", ".", "a/b"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        scene = mjrig.Scene.load(tmp_path / "robots" / "arm.xml")
        scene.save(tmp_path / folder / "s.yaml")
        assert mjrig.World(tmp_path / folder / "s.yaml")["arm"].actuator_names == ("servo",)
        assert mjrig.World(scene)["arm"].actuator_names == ("servo",)


# Commands ---------------------------------------------------------------------------------------


def test_every_command_takes_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("robots").mkdir()
    Path("robots/arm.xml").write_text(ARM)
    model = "robots/arm.xml"
    motors = ["--set", "arm.use_motors=true"]
    for command in (
        ["check", model],
        ["run", model, "--duration", "0.02", "--record", "run.h5"],
        ["export", model, "-o", "plain.xml"],
        ["diff", model, model, "--exit-code"],
        ["tune", "respond", model, "--duration", "0.05", "--workers", "1", *motors],
        ["tune", "assign", model, "--frequency", "5", "--preset", "gains.yaml", *motors],
        ["replay", "run.h5"],
        ["replay", "run.h5", "--scene", model],
    ):
        assert main(command) == 0, (command, capsys.readouterr().err)
    assert Path(model).read_text() == ARM
    capsys.readouterr()
    assert main(["tune", "assign", model, "--frequency", "5"]) == 1
    assert mentions(capsys.readouterr().err, "arm.use_motors=true makes motors of its …")
    main(["check", model, "--json"])
    table = json.loads(capsys.readouterr().out)["actors"][0]["actuators"]
    assert [row["owner"] for row in table] == ["setpoint, directly"]


# The same bits ----------------------------------------------------------------------------------

_ACTUATORS = (
    "<position joint='j{0}' kp='3' kv='.1'/>",
    "<motor joint='j{0}' ctrlrange='-1 1' ctrllimited='true' gear='2'/>",
    "<velocity joint='j{0}' kv='.2'/>",
    "<intvelocity joint='j{0}' kp='2' actrange='-1 1'/>",
    "<general joint='j{0}' gainprm='2' biastype='affine' biasprm='0 -2 -.1'/>",
)
_CONES = ("elliptic", "pyramidal")


def _model(rng: random.Random) -> str:
    """A robot of one chain, fixed or free, with whatever else a model may hold."""
    count = rng.randint(1, 4)
    chain = ""
    for i in reversed(range(count)):
        kind, axis = rng.choice(("hinge", "slide")), rng.choice(("1 0 0", "0 1 0"))
        joint = f"<joint name='j{i}' type='{kind}' axis='{axis}' damping='.3' armature='.05'/>"
        chain = f"<body pos='.1 0 -.2'>{joint}<geom size='.05' mass='.3'/>{chain}</body>"
    root = rng.choice(("<freejoint/>", "<joint type='ball'/>", ""))
    bodies = f"<body pos='0 0 1'>{root}<geom type='box' size='.1 .1 .1' mass='2'/>{chain}</body>"
    if rng.random() < 0.5:
        bodies += "<body name='aim' mocap='true' pos='.3 .1 .5'><geom size='.2'/></body>"
    if rng.random() < 0.5:
        bodies += "<body pos='.05 0 .3'><freejoint/><geom size='.05' mass='.1'/></body>"
    if rng.random() < 0.7:
        bodies += "<geom type='plane' size='2 2 .1'/>"
    actuators = "".join(
        rng.choice(_ACTUATORS).format(i) for i in range(count) if rng.random() < 0.7
    )
    flag = rng.choice(("warmstart", "contact", "eulerdamp", "refsafe", "gravity"))
    option = (
        f"<option timestep='{rng.choice((0.001, 0.002))}' cone='{rng.choice(_CONES)}'"
        f" integrator='{rng.choice(('Euler', 'RK4', 'implicit', 'implicitfast'))}'"
        f" density='{rng.choice((0, 1.2))}' iterations='{rng.choice((20, 100))}'>"
        f"<flag {flag}='disable'/></option>"
    )
    text = f"<mujoco>{option}<worldbody>{bodies}</worldbody><actuator>{actuators}</actuator>"
    if rng.random() < 0.5:
        start = mujoco.MjModel.from_xml_string(f"{text}</mujoco>").qpos0 + 0.0
        start[-1] += 0.05
        numbers = " ".join(f"{value:.17g}" for value in start)
        text += f"<keyframe><key name='home' qpos='{numbers}'/></keyframe>"
    return f"{text}</mujoco>"


@pytest.mark.campaign
def test_a_model_runs_as_in_bare_mujoco(tmp_path: Path, tally: Tally) -> None:
    for rng in tally.cases("models where a scene goes", 20, 6_000, minutes=3.0):
        text, name = _model(rng), rng.choice(("a.xml", "a.XML", "a.mjcf", "a", "a.mjb"))
        bare = mujoco.MjModel.from_xml_string(text)
        folder = tmp_path / "one"
        folder.mkdir()
        if name == "a.mjb":
            mujoco.mj_saveModel(bare, str(folder / name), None)
        else:
            (folder / name).write_text(text)
        world, data = mjrig.World(folder / name), mujoco.MjData(bare)
        shutil.rmtree(folder)
        if bare.nkey and rng.random() < 0.7:
            world.reset(keyframe="home")
            mujoco.mj_resetDataKeyframe(bare, data, 0)
        for robot in world.articulations.values():
            robot.setpoints.position[:] = 0.2
        data.ctrl[:] = 0.2
        world.step(60)
        mujoco.mj_step(bare, data, 60)
        for field in ("qpos", "qvel", "act", "mocap_pos"):
            if not np.array_equal(getattr(world.data, field), getattr(data, field)):
                tally.found(f"{field} differs: {name}: {text}")
                break
