"""Units of logs against the kinds of joints in a scene: an angle is no length."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.cli.main import main
from mjrig.cli.recording_summary import summary
from mjrig.core.errors import FitError, RecordingError
from mjrig.tuning import fit
from tests.plugin.data.robot_logs import simulated as sim
from tests.wording import mentions, regex

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
    assert any(mentions(n, "rail only 0.25: if slides, …") for n in recording.notes)
    with pytest.raises(RecordingError, match=regex("rail is a slide …")):
        fit(mjrig.Scene.load(scene), [log], ["kp"])


@pytest.mark.parametrize("unit", ["N·m", "mN·m", "N", "0.5", "A", "mA"])
def test_a_torque_constant_acts_on_currents_and_is_refused_for_efforts(
    tmp_path: Path, unit: str
) -> None:
    """The way that the refusal names scales the efforts of this joint, and of no other."""
    columns = {"t": TIME} | {f"q_{n}": q for n, q in TRUTH.items()}
    columns |= {f"cmd_{n}": q for n, q in TRUTH.items()}
    columns |= {f"tau_{n}": 3.0 * q for n, q in TRUTH.items()}
    log = _table(tmp_path / "log.csv", columns)
    mapping = tmp_path / "log.csv.log.yaml"
    efforts = f"{{from: log, field: 'tau_{{}}', unit: {unit}}}"
    start = (
        "mjrig_log: 1\njoints: {{rail: {{id: rail{0}}}, tilt: {{id: tilt{0}}}}}\n"
        "position: {{from: log, field: 'q_{{}}'}}\ncommand: {{from: log, field: 'cmd_{{}}'}}\n"
        "time: {{log: {{stamp: t, unit: s}}}}\noffset: 0\n"
    )
    mapping.write_text(start.format(", torque_constant: 0.8") + f"effort: {efforts}\n")
    factor = {"A": 1.0, "mA": 1e-3}.get(unit)
    if factor is not None:
        np.testing.assert_allclose(
            _effort(log, "rail"), 2.4 * factor * TRUTH["rail"][:-1], atol=1e-8
        )
        return
    with pytest.raises(RecordingError, match="torque_constant is of currents") as refused:
        mjrig.read_recording(log)
    line = str(refused.value).partition("effort: [")[2].partition(", …")[0]
    mapping.write_text(start.format("") + f"effort: [{line}, {efforts}]\n")
    other = {"N·m": 1.0, "mN·m": 1e-3, "N": 1.0, "0.5": 0.5}[unit]
    np.testing.assert_allclose(_effort(log, "rail"), 2.4 * TRUTH["rail"][:-1], atol=1e-8)
    np.testing.assert_allclose(_effort(log, "tilt"), 3.0 * other * TRUTH["tilt"][:-1], atol=1e-8)


@pytest.mark.parametrize("kinds", [("slide", "hinge"), ("slide", "slide"), ("hinge", "hinge")])
@pytest.mark.parametrize("unit", ["A", "mA"])
def test_a_missing_torque_constant_is_asked_for_in_the_unit_of_the_joint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kinds: tuple[str, str], unit: str
) -> None:
    """By --map from the units of the columns, by a mapping that lacks it from what it says."""
    columns = {"t": TIME}
    for (name, q), kind in zip(TRUTH.items(), kinds, strict=True):
        said, scale = ("mm", 1e3) if kind == "slide" else ("deg", 180.0 / np.pi)
        columns |= {f"{name}_pos_{said}": scale * q, f"{name}_current_{unit}": q}
    log = _table(tmp_path / "log.csv", columns)
    assert main(["convert", str(log), "--map"]) == 0
    out = capsys.readouterr().out
    units = {n: {"slide": "N/A", "hinge": "N·m/A"}[k] for n, k in zip(TRUTH, kinds, strict=True)}
    for own in set(units.values()):
        assert f"[{own}] of {', '.join(n for n in TRUTH if units[n] == own)}" in out
    assert "(N/A of a slide)" not in out
    with pytest.raises(RecordingError, match="give torque_constant") as refused:
        mjrig.read_recording(log)
    wanted = "N/A" if set(kinds) == {"slide"} else "N·m/A (N/A of a slide)"
    assert f"torque_constant [{wanted}] of each joint" in str(refused.value)


def _effort(log: Path, name: str) -> Any:
    (actor,) = mjrig.read_recording(log).actors.values()
    assert actor.efforts is not None
    return actor.efforts.effort[:, list(actor.driven).index(name)]


@pytest.mark.parametrize(("typed", "meant"), [("tlt", "tilt"), ("tiltt", "tilt"), ("rial", "rail")])
def test_a_mistyped_joint_is_named_with_the_one_that_is_meant(
    tmp_path: Path, typed: str, meant: str
) -> None:
    scene, log = _scene(tmp_path), _log(tmp_path, {"rail": "m", "tilt": "rad"})
    mapping = tmp_path / "log.csv.log.yaml"
    text = (
        mapping.read_text()
        .replace(f"  {meant}:", f"  {typed}:")
        .replace("joints:", "robot: robot\njoints:")
    )
    mapping.write_text(text)
    with pytest.raises(RecordingError, match=f"'robot' has no '{typed}'.*did you mean '{meant}'"):
        mjrig.replay(log, mjrig.World(scene), diagnose=False)


def test_what_a_gain_is_called_elsewhere_is_understood(tmp_path: Path) -> None:
    scene, log = _scene(tmp_path), _log(tmp_path, {"rail": "m", "tilt": "rad"})
    for other, known in (("kd", "kv"), ("stiffness", "kp"), ("latency", "delay")):
        with pytest.raises(FitError, match=f"did you mean '{known}'"):
            fit(mjrig.Scene.load(scene), [log], ["kp", other])


def test_the_size_of_a_folder_is_that_of_its_files(tmp_path: Path) -> None:
    store = sim.ros2()
    messages = sim.joint_messages(sim.simulated(1.5), store)
    bag = sim.write_rosbag2(tmp_path / "bag", messages, store, "SQLITE3")
    size = sum(f.stat().st_size for f in bag.iterdir())
    said = summary(mjrig.read_recording(bag)).partition("Hz, ")[2].split()
    assert abs(float(said[0]) * {"kB": 1e3, "MB": 1e6}[said[1]] - size) < 0.06 * size
