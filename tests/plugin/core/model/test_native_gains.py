"""`native_gains`: other gains and limits for the model's own actuators."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.core.sim.mujoco_export import export
from tests.campaign import Tally
from tests.plugin.composing import scene_of
from tests.plugin.core.model.test_model_edits import same_model
from tests.plugin.native_models import by_hand, native_gains, some_actuators, some_values, xml_of
from tests.worlds import make_world, refused

PANDA = xml_of(
    [
        ("position", {"name": "shoulder", "joint": "turn", "kp": 100.0, "dampratio": 1.0}),
        ("velocity", {"name": "lift", "joint": "slide", "kv": 5.0}),
        ("pid", {"name": "wrist", "joint": "bend", "kp": 40.0, "ki": 2.0, "input": "pos"}),
        ("motor", {"name": "extra", "joint": "bend"}),
        ("general", {"name": "fingers", "tendon": "cable", "gainprm": [0.02],
                     "biasprm": [0, -10, -1], "biastype": "affine"}),
        ("dcmotor", {"name": "wheel", "joint": "turn", "motorconst": [0.1, 0.1], "resistance": 1}),
    ]
)  # fmt: skip


@pytest.mark.campaign
def test_native_gains_are_the_model_written_by_hand(tally: Tally) -> None:
    for rng in tally.cases("native gains against the model by hand", 12, 6_000):
        actuators = some_actuators(rng)
        values = {
            str(given["name"]): some_values(rng, tag, given)
            for tag, given in actuators
            if rng.random() < 0.7
        }
        written = [(t, by_hand(t, g, values.get(str(g["name"]), {}))) for t, g in actuators]
        hand = mujoco.MjModel.from_xml_string(xml_of(written))
        world = make_world(xml_of(actuators), native_gains=native_gains(values))
        try:
            same_model(hand, world.model)
        except AssertionError as error:
            tally.found(f"{error}: {actuators} with {values}")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("kp: {extra: 5}",
         "4:33: actors[0].native_gains.kp: dog.native_gains.kp: 'extra' is a motor "
         "actuator … PDController …"),
        ("ki: {shoulder: 5}",
         "4:36: actors[0].native_gains.ki: dog.native_gains.ki: 'shoulder' is a "
         "position actuator, … PIDActuator …"),
        ("kp: {slide: 5}",
         "4:33: actors[0].native_gains.kp: dog.native_gains.kp: 'lift' is a velocity "
         "actuator, …"),
        ("kv: {wrist: 5}, dampratio: {w.*t: 1}",
         "4:55: actors[0].native_gains.dampratio: dog.native_gains.dampratio: 'wrist' "
         "is given kv (5) too; …"),
        ("dampratio: {fingers: 1}",
         "4:42: actors[0].native_gains.dampratio: dog.native_gains.dampratio: 'fingers' "
         "is a position actuator … 0.02 … 10; MuJoCo …"),
        ("kp: {wheel: 5}",
         "4:33: actors[0].native_gains.kp: dog.native_gains.kp: 'wheel' is a dcmotor "
         "actuator …"),
        ("kp: {sholder: 5}",
         "4:26: actors[0].native_gains.kp: dog.native_gains.kp: 'sholder' matches no "
         "actuator or … 'dog'; … 'shoulder'?"),
        ("kp: {shoulder: 5, 'sh.*': 6}", "4:39: actors[0].native_gains.kp: dog.native_gains.kp: "
         "'shoulder' is matched by 'shoulder' (5) and 'sh.*' (6)"),
        ("forcerange: {shoulder: [5, 5]}",
         "4:44: actors[0].native_gains.forcerange: dog.native_gains.forcerange: must be "
         "[low, high] with low < … [5, 5] … 'shoulder'"),
        ("gear: {shoulder: []}",
         "4:38: actors[0].native_gains.gear: dog.native_gains.gear: must be 1 to 6 "
         "finite … [] … 'shoulder'"),
    ],
)  # fmt: skip
def test_a_gain_that_an_actuator_does_not_have_is_refused(
    tmp_path: Path, line: str, message: str
) -> None:
    text = f"actors:\n  - {{name: dog, model: panda.xml,\n     native_gains: {{{line}}}}}\n"
    with refused(mjrig.SceneError, f"{tmp_path / 'scene.yaml'}:{message}"):
        mjrig.World(scene_of(tmp_path, text, panda=PANDA))


SCENE = """actors:
  - name: dog
    model: panda.xml
    native_gains:
      kp: {shoulder: 250, "wr.*": 30} # stiff
      kv: {slide: 7}
"""


def test_native_gains_follow_other_names_and_are_saved(tmp_path: Path) -> None:
    scene = scene_of(tmp_path, SCENE, panda=PANDA)
    before = mjrig.World(scene).model.actuator_biasprm.copy()
    scene.rename("dog.actuator:shoulder", "hinge")
    scene.rename("dog.joint:slide", "rail")
    scene.set("dog.native_gains.forcerange", {"hinge": [-8, 9]})
    scene.save()
    text = (tmp_path / "scene.yaml").read_text()
    assert 'kp: {hinge: 250, "wr.*": 30} # stiff\n' in text
    assert "kv: {rail: 7}" in text and "forcerange:\n        hinge: [-8, 9]\n" in text
    model = mjrig.World(tmp_path / "scene.yaml").model
    assert np.array_equal(model.actuator_biasprm, before)
    assert model.actuator("dog/hinge").forcerange.tolist() == [-8, 9]


def test_an_exported_model_has_them(tmp_path: Path) -> None:
    world = mjrig.World(scene_of(tmp_path, SCENE, panda=PANDA))
    export(world, tmp_path / "all.xml")
    again = mujoco.MjModel.from_xml_path(str(tmp_path / "all.xml"))
    for name in ("gainprm", "biasprm", "forcerange"):
        field = f"actuator_{name}"
        assert np.allclose(getattr(again, field), getattr(world.model, field), rtol=1e-6), name


def test_use_motors_takes_them_over(tmp_path: Path) -> None:
    scene = scene_of(tmp_path, SCENE + "    use_motors: true\n", panda=PANDA)
    (controller,) = mjrig.World(scene)["dog"].controllers
    assert controller.gains()["kp"].tolist() == [250.0]


def test_copies_of_an_actor_have_them(tmp_path: Path) -> None:
    scene = scene_of(tmp_path, SCENE + "    replicate: {count: [2, 1, 1]}\n", panda=PANDA)
    model = mjrig.World(scene).model
    assert [model.actuator(f"dog_{i}/shoulder").gainprm[0] for i in range(2)] == [250, 250]
