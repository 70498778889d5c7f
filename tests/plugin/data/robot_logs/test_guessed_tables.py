"""Tables of users' own loggers: what is guessed of them is compared with what was written."""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import mjrig
from mjrig.cli.main import main
from tests.wording import mentions

JOINTS = (("shoulder", "elbow"), ("left_knee", "right_knee", "neck"), ("FR_hip_joint", "J2"))
#: A logger's way to name a column: of a joint, a quantity and a unit, each as a word or "".
WAYS: dict[str, Callable[[str, str, str], str]] = {
    "suffix": lambda j, q, u: "_".join(w for w in (j, q, u) if w),
    "prefix": lambda j, q, u: "_".join(w for w in (q, j, u) if w),
    "slashes": lambda j, q, u: f"{j}/{q}" + (f"_{u}" if u else ""),
    "dots": lambda j, q, u: f"{q}.{j}" + (f" [{u}]" if u else ""),
    "brackets": lambda j, q, u: f"{j} {q} [{u}]" if u else f"{j} {q}",
    "round": lambda j, q, u: f"{j} {q} ({u})" if u else f"{j} {q}",
    "camel": lambda j, q, u: j + q.capitalize() + (f"_{u}" if u else ""),
    "unit before": lambda j, q, u: "_".join(w for w in (j, u, q) if w),
}
WORDS: dict[str, Sequence[str]] = {
    "position": ("pos", "q", "position", "angle", "actual", "measured", "theta"),
    "velocity": ("vel", "dq", "velocity", "speed", "qd"),
    "effort": ("torque", "tau", "effort"),
    "command": ("cmd", "setpoint", "target", "ref", "des", "goal", "q_des", "pos_cmd"),
}
#: Unit in a name → how many of it are one SI unit.
UNITS: dict[str, Mapping[str, float]] = {
    "position": {"deg": 57.29577951308232, "rad": 1.0, "mrad": 1000.0, "": 1.0},
    "velocity": {
        "deg_s": 57.29577951308232, "deg/s": 57.29577951308232, "dps": 57.29577951308232,
        "rad_s": 1.0, "rad/s": 1.0, "rpm": 9.549296585513721, "mrad/s": 1000.0,
    },
    "effort": {"Nm": 1.0, "mNm": 1000.0, "": 1.0},
    "command": {"deg": 57.29577951308232, "rad": 1.0, "mrad": 1000.0},
}  # fmt: skip
TIMES = {"t_ms": 1e3, "time": 1.0, "Time [s]": 1.0, "timestamp_us": 1e6, "elapsed_s": 1.0}


def _motion(count: int, rng: np.random.Generator) -> dict[str, Any]:
    time = np.arange(400) * 0.01
    rate = rng.uniform(1.0, 4.0, count)
    phase = np.outer(time, rate) + rng.uniform(0.0, 6.0, count)
    q, v = 0.9 * np.sin(phase), 0.9 * rate * np.cos(phase)
    return {"time": time, "position": q, "velocity": v, "effort": 3.0 * v, "command": q + 0.05}


def _write(path: Path, columns: Mapping[str, Any], separator: str = ",") -> Path:
    rows = zip(*columns.values(), strict=True)
    lines = [separator.join(columns), *(separator.join(repr(float(x)) for x in r) for r in rows)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def _actor(path: Path, **hints: object) -> Any:
    (actor,) = mjrig.read_recording(path, {"offset": 0, **hints}).actors.values()
    return actor


def _check(actor: Any, names: Sequence[str], truth: Mapping[str, Any]) -> None:
    order = [[j.name for j in actor.joints].index(name) for name in names]
    np.testing.assert_allclose(actor.qpos[:, order], truth["position"], atol=1e-9)
    np.testing.assert_allclose(actor.qvel[:, order], truth["velocity"], atol=1e-9)
    driven = [list(actor.driven).index(name) for name in names]
    np.testing.assert_allclose(actor.efforts.effort[:, driven], truth["effort"][:-1], atol=1e-9)
    held = actor.commands.position[:, driven]
    rows = np.searchsorted(actor.commands.step, np.arange(399), side="right") - 1
    np.testing.assert_allclose(held[rows], truth["command"][:-1], atol=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_columns_of_any_logger_are_read_as_they_were_written(tmp_path: Path, seed: int) -> None:
    chosen, rng = random.Random(seed), np.random.default_rng(seed)
    names = chosen.choice(JOINTS)
    way = list(WAYS)[seed % len(WAYS)]
    truth = _motion(len(names), rng)
    stamp = chosen.choice(list(TIMES))
    columns: dict[str, Any] = {stamp: truth["time"] * TIMES[stamp]}
    others: list[tuple[str, Any]] = [("voltage", truth["time"]), ("mode", truth["time"] * 0.0)]
    for quantity, words in WORDS.items():
        word = chosen.choice(words)
        unit = chosen.choice([u for u in UNITS[quantity] if "/" not in u or way != "slashes"])
        if way == "unit before" and len(unit) < 2:
            unit = {"position": "deg", "command": "rad", "effort": "Nm"}[quantity]
        for k, name in enumerate(names):
            scaled = truth[quantity][:, k] * UNITS[quantity][unit]
            others.append((WAYS[way](name, word, unit), scaled))
    chosen.shuffle(others)
    path = _write(tmp_path / "log.csv", columns | dict(others))
    _check(_actor(path), names, truth)
    # The mapping that is written says the same, gives reasons, and lists the rest.
    assert main(["convert", str(path), "--map"]) == 0
    text = (tmp_path / "log.csv.log.yaml").read_text()
    assert yaml.safe_load(text)["unused"] == {
        "log": [n for n, _ in others if n in ("voltage", "mode")]
    }
    guesses = re.findall(r"^(?:position|velocity|effort|command): .*$", text, re.MULTILINE)
    assert len(guesses) == 4 and all(" # by '" in line for line in guesses)
    _check(_actor(path), names, truth)


def test_columns_without_a_word_are_positions_by_their_unit_or_by_others(tmp_path: Path) -> None:
    truth = _motion(2, np.random.default_rng(5))
    q, v = truth["position"], truth["velocity"]
    columns = {"t": truth["time"], "shoulder": q[:, 0], "shoulder_target": q[:, 0] + 0.05,
               "lift_mm": 1000.0 * q[:, 1], "lift_mm_s": 1000.0 * v[:, 1], "yaw_deg": v[:, 0],
               "battery_A": v[:, 0]}  # fmt: skip
    actor = _actor(_write(tmp_path / "a.csv", columns))
    kinds = {joint.name: joint.kind for joint in actor.joints}
    assert kinds == {"shoulder": "hinge", "lift": "slide"}
    order = [list(kinds).index(name) for name in ("shoulder", "lift")]
    np.testing.assert_allclose(actor.qpos[:, order], q, atol=1e-9)
    assert list(actor.driven) == ["shoulder"]


def test_a_joint_that_is_written_in_another_way_is_the_same_one(tmp_path: Path) -> None:
    truth = _motion(2, np.random.default_rng(6))
    columns: dict[str, Any] = {"t": truth["time"]}
    for k, name in enumerate(("left_knee_joint", "neck")):
        other = {"left_knee_joint": "LeftKnee", "neck": "Neck"}[name]
        columns[f"{name}_pos"] = truth["position"][:, k]
        columns[f"vel{other}"] = truth["velocity"][:, k]
        columns[f"tau{other}"] = truth["effort"][:, k]
        columns[f"cmd{other}"] = truth["command"][:, k]
    _check(_actor(_write(tmp_path / "a.csv", columns)), ("left_knee_joint", "neck"), truth)


def test_a_table_of_one_joint_needs_no_name_of_it(tmp_path: Path) -> None:
    truth = _motion(1, np.random.default_rng(7))
    words = {"position": "pos", "velocity": "vel", "effort": "torque", "command": "target"}
    columns = {"t": truth["time"], **{w: truth[q][:, 0] for q, w in words.items()}}
    _check(_actor(_write(tmp_path / "target.csv", columns)), ["joint"], truth)


@pytest.mark.parametrize(
    ("unit", "word", "said"),
    [
        ("A", "cur", "torque_constant [N·m/A] of shoulder, elbow"),
        ("mA", "current", "torque_constant [N·m/A] of shoulder, elbow"),
        ("pct", "load", "what 1 % is"),
    ],
)
def test_what_a_mapping_lacks_is_said_and_filled_in_by_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], unit: str, word: str, said: str
) -> None:
    names, truth = ("shoulder", "elbow"), _motion(2, np.random.default_rng(8))
    scale = {"A": 1 / 0.7, "mA": 1000 / 0.7, "pct": 1 / 0.02}[unit]
    columns: dict[str, Any] = {"t_ms": 1e3 * truth["time"]}
    for k, name in enumerate(names):
        columns |= {f"{name}_deg": np.degrees(truth["position"][:, k]),
                    f"{name}_vel_deg_s": np.degrees(truth["velocity"][:, k]),
                    f"{name}_cmd_deg": np.degrees(truth["command"][:, k]),
                    f"{name}_{word}_{unit}": truth["effort"][:, k] * scale}  # fmt: skip
    path = _write(tmp_path / "a.csv", columns)
    assert main(["convert", str(path), str(tmp_path / "out.npz")]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and ("is a current in" in error or "is a percentage" in error)
    assert main(["convert", str(path), "--map"]) == 0
    out = capsys.readouterr().out
    assert mentions(out, "To be filled in before …") and said in out.splitlines()[-1]
    own = tmp_path / "a.csv.log.yaml"
    text = own.read_text()
    if unit == "pct":
        text = text.replace('unit: "%"', "unit: 0.02")
    else:
        text = re.sub(r"\{id: (\w+)\}", r"{id: \1, torque_constant: 0.7}", text)
    own.write_text(text)
    _check(_actor(path), names, truth)


def test_where_nothing_can_be_guessed_a_skeleton_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    truth = _motion(2, np.random.default_rng(9))
    columns = {"clk": truth["time"], "foo": truth["position"][:, 0], "7": truth["position"][:, 1]}
    path = _write(tmp_path / "odd.csv", {"k" + n: v for n, v in columns.items()})
    assert main(["info", str(path)]) in (0, 1)
    assert main(["convert", str(path), str(tmp_path / "out.npz")]) == 1
    assert mentions(capsys.readouterr().err, "`mjrig convert LOG --map` writes a log.yaml to …")
    assert main(["convert", str(path), "--map"]) == 0
    out = capsys.readouterr().out
    assert "- joints: their names" in out and "- position: the fields" in out
    own = tmp_path / "odd.csv.log.yaml"
    text = own.read_text()
    assert "#   kfoo: -0.9" in text and "stamp: kclk, unit: s" in text
    assert main(["convert", str(path), str(tmp_path / "out.npz")]) == 1
    assert "odd.csv.log.yaml:" in capsys.readouterr().err
    text = text.replace("#  shoulder: {id: shoulder}", "  a: {id: a}\n  b: {id: b}")
    first = "position:\n  - {from: odd, field: kfoo, joint: a, unit: rad}"
    own.write_text(
        text.replace("# or a line", f"{first}\n  - {{from: odd, field: k7, joint: b}}\n# or a line")
    )
    actor = _actor(path)
    assert [joint.name for joint in actor.joints] == ["a", "b"]
    np.testing.assert_allclose(actor.qpos, truth["position"], atol=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_columns_in_german_are_read_as_they_were_written(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = _motion(2, rng)
    plain = seed % 2 == 0
    words = {
        "position": "Ist" if plain else "Winkel Ist", "command": "Soll" if plain else "Winkel Soll",
        "velocity": "Geschwindigkeit", "effort": "Drehmoment",
    }  # fmt: skip
    units = {"position": "deg", "command": "deg", "velocity": "rad/s", "effort": "Nm"}
    columns: dict[str, Any] = {"Zeit [s]" if plain else "Uhrzeit [s]": truth["time"]}
    for quantity, word in words.items():
        for k, name in enumerate(("Achse A", "Kipp")):
            factor = 57.29577951308232 if units[quantity] == "deg" else 1.0
            column = f"{name} {word} [{units[quantity]}]"
            columns[column] = truth[quantity][:, k] * factor
    _check(_actor(_write(tmp_path / "a.csv", columns, ";")), ("Achse A", "Kipp"), truth)


@pytest.mark.parametrize(("unit", "factor"), [("A", 1.0), ("mA", 1000.0)])
@pytest.mark.parametrize("column", ["I_{} [{}]", "Strom {} [{}]", "i {} ({})"])
def test_currents_are_of_the_joint_that_they_name(
    tmp_path: Path, column: str, unit: str, factor: float
) -> None:
    truth = _motion(2, np.random.default_rng(8))
    columns: dict[str, Any] = {"Zeit": truth["time"]}
    for k, name in enumerate(("X", "Kipp")):
        shown = f"Achse {name}" if name == "X" else name
        columns[f"{shown} Ist [rad]"] = truth["position"][:, k]
        columns[f"{shown} Soll [rad]"] = truth["command"][:, k]
        columns[column.format(name, unit)] = truth["effort"][:, k] * factor / (k + 2.0)
    path = _write(tmp_path / "a.csv", columns, ";")
    assert main(["convert", str(path), "--map"]) == 0
    written = tmp_path / "a.csv.log.yaml"
    text = written.read_text()
    assert "unused" not in text and text.count("Fill in: torque_constant") == 2
    for k, name in enumerate(('id: "Achse X"', "id: Kipp")):
        text = text.replace(name, f"{name}, torque_constant: {k + 2.0}")
    written.write_text(text)
    actor = _actor(path)
    order = [list(actor.driven).index(name) for name in ("Achse X", "Kipp")]
    np.testing.assert_allclose(actor.efforts.effort[:, order], truth["effort"][:-1], atol=1e-9)


@pytest.mark.parametrize("quantity", ["q", "tau", "cmd"])
def test_columns_without_a_number_are_said(tmp_path: Path, quantity: str) -> None:
    truth = _motion(2, np.random.default_rng(9))
    columns: dict[str, Any] = {"t": truth["time"], "mode": np.full(400, np.nan)}
    for word, what in (("q", "position"), ("tau", "effort"), ("cmd", "command")):
        for k, name in enumerate(("hip", "knee")):
            columns[f"{word}_{name}"] = truth[what][:, k]
    columns[f"{quantity}_knee"] = np.full(400, np.nan)
    notes = mjrig.read_recording(_write(tmp_path / "a.csv", columns)).notes
    assert mentions(notes, f"columns without a single … {quantity}_knee")
