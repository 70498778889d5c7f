"""Arrays of npz and lists of Parquet files say what they are as columns of CSV files do."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mjrig.data.recording.readers import read_recording
from mjrig.data.recording.recording import Recording
from mjrig.data.robot_logs.field_names import meaning

ROWS = 200
JOINTS = ("pan", "tilt_left")
#: Unit of positions → how many SI units one is, and what speeds in it are called.
UNITS = {
    "deg": (np.pi / 180.0, "deg_s"),
    "mrad": (1e-3, "mrad_s"),
    "rad": (1.0, "rad_s"),
    "mm": (1e-3, "mm_s"),
    "cm": (1e-2, "cm_s"),
    "turns": (2.0 * np.pi, "turns_s"),
}
#: Units of efforts of hinges, and of slides.
EFFORTS = {"Nm": 1.0, "mNm": 1e-3}
FORCES = {"N": 1.0}
#: What a log may call positions, commands and velocities.
NAMES = (
    ("pos", "cmd", "vel"),
    ("position", "command", "velocity"),
    ("q", "q_des", "dq"),
    ("angle", "target", "speed"),
    ("measured", "setpoint", "qvel"),
    ("actual_position", "goal_position", "actual_velocity"),
)


def _motion() -> dict[str, Any]:
    """Times, and positions, commands, velocities and efforts in SI units."""
    time = np.arange(ROWS) * 0.01
    phase = 2.0 * np.pi * 0.7 * time[:, None] + np.array([0.0, 1.0])
    return {
        "time": time,
        "position": 0.3 * np.sin(phase),
        "command": 0.31 * np.sin(phase + 0.1),
        "velocity": 0.3 * 2.0 * np.pi * 0.7 * np.cos(phase),
        "effort": 1.5 * np.cos(phase),
    }


def _written(folder: Path, arrays: dict[str, Any], time: np.ndarray) -> tuple[Path, Path]:
    """The same numbers as arrays of an npz file, and as columns of a CSV file."""
    as_arrays, as_columns = folder / "log.npz", folder / "log.csv"
    np.savez(as_arrays, time=time, names=np.array(JOINTS), **arrays)
    header = ["time", *(f"{joint}_{name}" for name in arrays for joint in JOINTS)]
    table = np.column_stack([time, *arrays.values()])
    np.savetxt(as_columns, table, "%.17g", ",", header=",".join(header), comments="")
    return as_arrays, as_columns


def _numbers(found: Recording) -> dict[str, Any]:
    (actor,) = found.actors.values()
    assert actor.commands is not None
    numbers: dict[str, Any] = {"position": actor.qpos, "velocity": actor.qvel}
    numbers |= {"command": actor.commands.position}
    return numbers | ({"effort": actor.efforts.effort} if actor.efforts is not None else {})


@pytest.mark.parametrize(("unit", "names"), [*product(UNITS, NAMES)])
def test_arrays_are_read_as_columns_are(tmp_path: Path, unit: str, names: tuple[str, ...]) -> None:
    """Every unit after every name: the numbers in SI units, from both files."""
    factor, per_second = UNITS[unit]
    is_slide = unit in ("mm", "cm")
    efforts = list((FORCES if is_slide else EFFORTS).items())
    force, strength = efforts[len(names[0]) % len(efforts)]
    truth = _motion()
    arrays = {
        f"{names[0]}_{unit}": truth["position"] / factor,
        f"{names[1]}_{unit}": truth["command"] / factor,
        f"{names[2]}_{per_second}": truth["velocity"] / factor,
        f"tau_{force}": truth["effort"] / strength,
    }
    hints = {"offset": 0.0}
    one, other = (read_recording(p, hints) for p in _written(tmp_path, arrays, truth["time"]))
    found, same = _numbers(one), _numbers(other)
    for name, values in found.items():
        assert np.allclose(values, same[name], rtol=0.0, atol=1e-12), name
        assert np.allclose(values, truth[name][: len(values)], rtol=0.0, atol=1e-9), name
    kinds = [{j.name: j.kind for a in r.actors.values() for j in a.joints} for r in (one, other)]
    expected = dict.fromkeys(JOINTS, "slide" if is_slide else "hinge")
    assert kinds == [expected, expected]


@pytest.mark.parametrize("joint", ["0", "pan", "x", "FR_hip", "lift.axis"])
@pytest.mark.parametrize("word", ["pos", "cmd", "vel", "tau", "current", "vel_cmd", "I"])
def test_a_unit_before_a_joint_in_brackets(word: str, joint: str) -> None:
    """The field keeps the unit where it is, and the joint is what the brackets hold."""
    quantities = {
        "pos": ("position", "mm"), "cmd": ("command", "deg"), "vel": ("velocity", "deg/s"),
        "tau": ("effort", "mN·m"), "current": ("effort", "mA"), "I": ("effort", "A"),
        "vel_cmd": ("command_velocity", "rad/s"),
    }  # fmt: skip
    quantity, unit = quantities[word]
    written = unit.replace("·", "").replace("/", "_")
    found = meaning("", f"{word}_{written}[{joint}]")
    assert found is not None
    assert (found.quantity, found.unit, found.label) == (quantity, unit, joint)
    assert found.field == f"{word}_{written}[{{}}]"


@pytest.mark.parametrize("path", ["imu_deg[x]", "temp_deg[pan]", "battery_mA[0]", "error_rad[pan]"])
def test_a_unit_alone_makes_no_joint(path: str) -> None:
    """Arrays of something else stay unused, whatever their unit."""
    assert meaning("", path) is None


def test_a_unit_after_a_joint_in_brackets() -> None:
    """A field of a numbered part has its unit at the end."""
    found = meaning("", "motor[3].pos_deg")
    assert found is not None
    assert (found.quantity, found.unit, found.label) == ("position", "deg", "3")
    assert found.field == "motor[{}].pos_deg"


def test_one_joint_needs_no_name(tmp_path: Path) -> None:
    """Columns of a single joint: `pos_deg` and `cmd_deg` alone."""
    truth = _motion()
    columns = {"pos_deg": truth["position"][:, 0], "cmd_deg": truth["command"][:, 0]}
    in_degrees: dict[str, Any] = {name: np.rad2deg(own) for name, own in columns.items()}
    np.savez(tmp_path / "log.npz", time=truth["time"], **in_degrees)
    found = _numbers(read_recording(tmp_path / "log.npz", {}))
    assert np.allclose(found["position"][:, 0], columns["pos_deg"], rtol=0.0, atol=1e-9)
    assert np.allclose(found["command"][:, 0], columns["cmd_deg"], rtol=0.0, atol=1e-9)
