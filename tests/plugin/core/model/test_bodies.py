"""`bodies` of an actor: masses, centres and inertias of the compiled model are as it says."""

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
import yaml

import mjrig
from mjrig.core.errors import MjrigError, SceneError
from tests.wording import mentions, regex

MODEL = """<mujoco><compiler angle="radian" {compiler}/><worldbody>
<body name="trunk" pos="0 0 1">{free}
<geom type="box" size=".2 .1 .05" mass="4" pos=".02 0 .01" euler=".2 0 .3"/>
<body name="thigh" pos="0 .1 0"><joint name="hip" axis="0 1 0"/>
<inertial pos=".01 .02 -.1" mass="1.2" fullinertia=".02 .018 .006 .001 .002 -.001"/>
<geom type="capsule" fromto="0 0 0 0 0 -.2" size=".03" mass="1"/>
<body name="calf" pos="0 0 -.2"><joint name="knee" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 .02 0 -.2" size=".02" mass=".3"/></body></body></body>
</worldbody></mujoco>"""
COMPILERS = ["", 'inertiafromgeom="true"', 'settotalmass="7"', 'inertiagrouprange="0 2"']
BODIES = ("trunk", "thigh", "calf")


def model_of(folder: Path, bodies: Any, compiler: str = "", free: str = "<freejoint/>") -> Any:
    (folder / "robot.xml").write_text(MODEL.format(compiler=compiler, free=free))
    actor = {"name": "dog", "model": "robot.xml"} | ({"bodies": bodies} if bodies else {})
    scene = mjrig.Scene.parse(yaml.safe_dump({"mjrig": 1, "actors": [actor]}), base=folder)
    return mjrig.World(scene).model


def inertial(model: Any, name: str) -> tuple[float, Any, Any]:
    """Mass, centre and full inertia of a compiled body."""
    body = model.body(f"dog/{name}")
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, body.iquat)
    turn = turn.reshape(3, 3)
    return float(body.mass[0]), body.ipos.copy(), turn @ np.diag(body.inertia) @ turn.T


def full(six: Any) -> Any:
    xx, yy, zz, xy, xz, yz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def drawn(random: np.random.Generator) -> tuple[float, list[float], list[float]]:
    """Mass, centre and inertia of some points with masses: a body that can exist."""
    points, masses = random.normal(0.0, 0.1, (6, 3)), random.uniform(0.1, 1.0, 6)
    mass = float(masses.sum())
    centre = masses @ points / mass
    own = points - centre
    turns = [m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(masses, own, strict=True)]
    about = np.sum(turns, axis=0)
    six = [about[a, b] for a, b in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    return mass, centre.tolist(), [float(v) for v in six]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_whole_bodies_are_compiled_as_stated_and_others_stay(tmp_path: Path, compiler: str) -> None:
    random = np.random.default_rng(len(compiler))
    before = model_of(tmp_path, None, compiler)
    for count in range(1, 4):
        chosen = random.choice(BODIES, count, replace=False).tolist()
        values = {name: drawn(random) for name in chosen}
        bodies = {
            part: {name: value[k] for name, value in values.items()}
            for k, part in enumerate(("mass", "centre", "inertia"))
        }
        model = model_of(tmp_path, bodies, compiler)
        for name in BODIES:
            found = inertial(model, name)
            if name in values:
                mass, centre, six = values[name]
                wanted: Any = (mass, centre, full(six))
            else:
                wanted = inertial(before, name)
            for one, two in zip(found, wanted, strict=True):
                np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("part", ["mass", "centre", "inertia"])
def test_what_is_not_stated_follows(tmp_path: Path, part: str, compiler: str) -> None:
    """Another mass is another density; centre and inertia leave the rest as it is."""
    before = model_of(tmp_path, None, compiler)
    mass, centre, six = drawn(np.random.default_rng(3))
    stated: Any = {"mass": mass, "centre": centre, "inertia": six}[part]
    model = model_of(tmp_path, {part: {"thigh|calf": stated}}, compiler)
    for name in ("thigh", "calf"):
        old, found = inertial(before, name), inertial(model, name)
        wanted = {
            "mass": (mass, old[1], old[2] * mass / old[0]),
            "centre": (old[0], centre, old[2]),
            "inertia": (old[0], old[1], full(six)),
        }[part]
        for one, two in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)
    for one, two in zip(inertial(model, "trunk"), inertial(before, "trunk"), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    ("bodies", "said"),
    [
        ({"mass": {"calv": 1.0}}, "'calv' matches no body of 'dog'; … 'calf'?"),
        ({"mass": {"calf": 0.0}}, "must be > 0 kg, got 0 for 'calf'"),
        ({"mass": {"calf": 1, "c.*": 2}}, "'calf' is matched by"),
        ({"centre": {"calf": [0, 1]}}, "must be 3 finite numbers, … [0, 1] … 'calf'"),
        ({"inertia": {"calf": [1, 1, 3, 0, 0, 0]}}, "principal moments are 1, 1 and 3"),
        ({"inertia": {"calf": [1, 1, -1, 0, 0, 0]}}, "each must be above 0"),
        ({"weight": {"calf": 1}}, "'weight'"),
    ],
)
def test_wrong_bodies_are_refused_where_they_are_written(
    tmp_path: Path, bodies: Any, said: str
) -> None:
    with pytest.raises(SceneError) as error:
        model_of(tmp_path, bodies)
    assert mentions(str(error.value), said)


def test_names_of_bodies_follow_a_renaming(tmp_path: Path) -> None:
    (tmp_path / "robot.xml").write_text(MODEL.format(compiler="", free=""))
    scene = mjrig.Scene.parse(
        "mjrig: 1\nactors:\n- {name: dog, model: robot.xml, bodies: {mass: {calf: 2}}}\n",
        base=tmp_path,
    )
    scene.rename("dog.body:calf", "shank")
    assert "mass: {shank: 2}" in scene.to_text()
    assert mjrig.World(scene).model.body("dog/shank").mass[0] == 2.0


def test_a_binary_model_is_refused(tmp_path: Path) -> None:
    model = mujoco.MjModel.from_xml_string(MODEL.format(compiler="", free=""))
    mujoco.mj_saveModel(model, str(tmp_path / "robot.mjb"), None)
    actor = {"name": "dog", "model": "robot.mjb", "bodies": {"mass": {"calf": 2}}}
    scene = mjrig.Scene.parse(yaml.safe_dump({"mjrig": 1, "actors": [actor]}), base=tmp_path)
    with pytest.raises(MjrigError, match=regex("dog.bodies: an .mjb is already compiled")):
        mjrig.World(scene)
