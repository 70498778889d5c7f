"""Units of logs against the kinds of joints in a scene: an angle is no length."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.errors import RecordingError
from mjrig.tuning import fit

MODEL = """<mujoco><option timestep="0.01"/><worldbody>
<body><joint name="rail" type="slide" axis="1 0 0" damping="20"/>
<geom size="0.05" mass="1"/>
<body><joint name="tilt" axis="0 1 0" damping="0.5"/>
<geom type="capsule" fromto="0 0 0 0.2 0 0" size="0.02" mass="0.4"/></body></body></worldbody>
<actuator><motor name="rail" joint="rail"/><motor name="tilt" joint="tilt"/></actuator></mujoco>"""
SCENE = """mjrig: 1
sim: {timestep: 0.01}
actors:
- name: robot
  model: cart.xml
  components:
  - {type: PDController, kp: 40, kv: 2}
"""
#: How many of a unit are one SI unit, and what has it.
UNITS = {
    "rad": (1.0, ""), "m": (1.0, ""), "deg": (180.0 / np.pi, "tilt"), "mrad": (1e3, "tilt"),
    "turn": (0.5 / np.pi, "tilt"), "4096/turn": (2048.0 / np.pi, "tilt"), "mm": (1e3, "rail"),
    "cm": (1e2, "rail"),
}  # fmt: skip
TIME = np.arange(300) * 0.01
TRUTH = {"rail": 0.25 * np.sin(3.0 * TIME), "tilt": 0.9 * np.sin(2.0 * TIME)}


def _scene(folder: Path) -> Path:
    (folder / "cart.xml").write_text(MODEL)
    path = folder / "cart.yaml"
    path.write_text(SCENE)
    return path


def _table(path: Path, columns: dict[str, Any]) -> Path:
    np.savetxt(path, np.stack(list(columns.values()), 1), delimiter=",", comments="",
               header=",".join(columns), fmt="%.9f")  # fmt: skip
    return path


def _log(folder: Path, units: dict[str, str], said: bool = True) -> Path:
    factors = {name: UNITS[unit][0] for name, unit in units.items()}
    columns = {"t": TIME}
    columns |= {f"q_{n}": values * factors[n] for n, values in TRUTH.items()}
    columns |= {f"cmd_{n}": values * factors[n] for n, values in TRUTH.items()}
    path = _table(folder / "log.csv", columns)
    if said:
        joints = [f"  {n}: {{id: {n}, unit: {unit}}}\n" for n, unit in units.items()]
        (folder / "log.csv.log.yaml").write_text(
            f"mjrig_log: 1\njoints:\n{''.join(joints)}position: {{from: log, field: 'q_{{}}'}}\n"
            "command: {from: log, field: 'cmd_{}'}\ntime: {log: {stamp: t, unit: s}}\n"
        )
    return path


@pytest.mark.parametrize(
    ("rail", "tilt"),
    [*product(UNITS, ["rad"]), *product(["m"], UNITS), ("mm", "deg"), ("deg", "mm")],
)
def test_a_unit_of_the_other_kind_is_refused_and_others_are_read(
    tmp_path: Path, rail: str, tilt: str
) -> None:
    scene, log = _scene(tmp_path), _log(tmp_path, {"rail": rail, "tilt": tilt})
    wrong = [n for n, u in (("rail", rail), ("tilt", tilt)) if UNITS[u][1] not in ("", n)]
    world = mjrig.World(scene)
    if wrong:
        with pytest.raises(RecordingError, match=f"{wrong[0]} is a .* in the scene, and read in"):
            mjrig.replay(log, world, diagnose=False)
        return
    result = mjrig.replay(log, world, mode="kinematic")
    assert result.verdict == "shown"
    (actor,) = mjrig.read_recording(log).actors.values()
    read = {joint.name: actor.qpos[:, joint.qpos][:, 0] for joint in actor.joints}
    for name, truth in TRUTH.items():
        np.testing.assert_allclose(read[name], truth, atol=1e-6)


def test_a_guess_of_degrees_for_all_is_refused_for_slides_and_says_how_to_go_on(
    tmp_path: Path,
) -> None:
    scene = _scene(tmp_path)
    log = _log(tmp_path, {"rail": "m", "tilt": "deg"}, said=False)
    recording = mjrig.read_recording(log)
    assert any("rail only 0.25: if slides, write kind: slide" in n for n in recording.notes)
    with pytest.raises(RecordingError, match=r"rail is a slide .* kind: slide, unit: m"):
        fit(mjrig.Scene.load(scene), [log], ["kp"])
