"""log.yaml that names single fields: of one joint, mistyped, of two joints; and whose it is."""

import random
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
import yaml

import mjrig
from mjrig.cli.main import main
from mjrig.core.errors import RecordingError
from mjrig.data.robot_logs.log_map import map_schema

NAMES = ("lift", "grip", "turret")
QUANTITIES = ("position", "velocity", "effort", "command")


def _columns(seed: int) -> dict[str, Any]:
    """Names that say nothing, and their numbers: those of (quantity, joint) in order."""
    rng, chosen = np.random.default_rng(seed), random.Random(seed)
    time = np.arange(300) * 0.004
    names = [f"{chosen.choice('abcdefgh')}x{k}z" for k in range(len(NAMES) * len(QUANTITIES))]
    columns = {n: np.sin(time * rng.uniform(1, 5) + rng.uniform(0, 6)) for n in names}
    return {"clock": time, **columns}


def _write(path: Path, columns: dict[str, Any]) -> Path:
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(repr(float(x)) for x in row) for row in rows)]
    path.write_text("\n".join(lines))
    return path


def _map(columns: dict[str, Any], topic: str, patterns: tuple[str, ...] = ()) -> dict[str, Any]:
    """Each joint's quantities by single fields."""
    names = iter(list(columns)[1:])
    found: dict[str, Any] = {"mjrig_log": 1, "joints": {n: {"id": n} for n in NAMES}}
    for quantity in QUANTITIES:
        found[quantity] = [{"from": topic, "field": next(names), "joint": n} for n in NAMES]
        if quantity in patterns:
            found[quantity].insert(0, {"from": topic, "field": f"{{}}_{quantity}"})
    return {**found, "time": {topic: {"stamp": "clock", "unit": "s"}}}


def _read(log: Path, mapping: dict[str, Any]) -> Any:
    jsonschema.validate(mapping, map_schema())
    path = log.with_name("map.yaml")
    path.write_text(yaml.safe_dump(mapping, sort_keys=False))
    (actor,) = mjrig.read_recording(log, {"offset": 0, "map": str(path)}).actors.values()
    return actor


@pytest.mark.parametrize("seed", range(6))
def test_every_quantity_of_every_joint_can_be_a_field_of_its_own(tmp_path: Path, seed: int) -> None:
    columns = _columns(seed)
    log = _write(tmp_path / "a.csv", columns)
    mapping = _map(columns, "a")
    random.Random(seed).shuffle(mapping["position"])
    actor = _read(log, mapping)
    values = np.stack(list(columns.values())[1:], axis=1).reshape(300, len(QUANTITIES), len(NAMES))
    order = [[j.name for j in actor.joints].index(name) for name in NAMES]
    np.testing.assert_allclose(actor.qpos[:, order], values[:, 0], atol=1e-9)
    driven = [list(actor.driven).index(name) for name in NAMES]
    np.testing.assert_allclose(actor.efforts.effort[:, driven], values[:-1, 2], atol=1e-9)
    np.testing.assert_allclose(actor.commands.position[0, driven], values[0, 3], atol=1e-9)


def test_some_joints_by_a_pattern_and_one_by_its_own_field(tmp_path: Path) -> None:
    columns = _columns(1)
    first, *_ = (n for n in list(columns)[1:])
    renamed = dict(columns)
    for k, name in enumerate(NAMES):
        renamed[f"{name}_position"] = list(columns.values())[1 + k] + 1.0
    mapping = _map(columns, "a", ("position",))
    mapping["position"] = mapping["position"][:2]  # the pattern, and the field of the first joint
    actor = _read(_write(tmp_path / "a.csv", renamed), mapping)
    order = [[j.name for j in actor.joints].index(name) for name in NAMES]
    np.testing.assert_allclose(actor.qpos[:, order[0]], columns[first], atol=1e-9)
    for k in (1, 2):
        own = renamed[f"{NAMES[k]}_position"]
        np.testing.assert_allclose(actor.qpos[:, order[k]], own, atol=1e-9)


@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize("is_pattern", [False, True])
def test_a_field_that_is_not_there_is_an_error_that_names_the_nearest(
    tmp_path: Path, quantity: str, is_pattern: bool
) -> None:
    columns = _columns(2)
    columns |= {f"{name}_{quantity}": columns["clock"] for name in NAMES}
    mapping = _map(columns, "a")
    typo = quantity[:-1] + "x"
    wrong = {"from": "a", "field": f"{{}}_{typo}"}
    if not is_pattern:
        wrong = {"from": "a", "field": f"lift_{typo}", "joint": "lift"}
    mapping[quantity] = [wrong] if is_pattern else [wrong, *mapping[quantity][1:]]
    with pytest.raises(RecordingError, match=f"did you mean 'lift_{quantity}'") as error:
        _read(_write(tmp_path / "a.csv", columns), mapping)
    assert f"lift_{typo}" in str(error.value) and "map.yaml" in str(error.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"field": "ax0z", "joint": "turret"}, "ax0z of a is mapped to lift and to turret"),
        ({"field": "other"}, r"whose is 'other'\? Put {} where"),
        ({"field": "other", "joint": "gripp"}, "'gripp' is not in joints; did you mean 'grip'"),
        ({"field": "{}_f", "joint": "grip"}, "has {} for any joint"),
    ],
)
def test_a_field_has_one_joint(tmp_path: Path, change: dict[str, str], said: str) -> None:
    columns = {f"ax{k}z" if k else "clock": v for k, v in enumerate(_columns(3).values())}
    columns = {"clock": columns["clock"], "ax0z": columns["ax1z"], **columns}
    mapping = _map(columns, "a")
    mapping["effort"] = [{"from": "a", **change}]
    with pytest.raises(RecordingError, match=said):
        _read(_write(tmp_path / "a.csv", columns), mapping)


def test_a_mapping_is_of_one_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Logs that differ in their ending only are mapped apart; a file beside them is not taken."""
    time = np.arange(100) * 0.01
    table = {"t": time, "a_pos": np.sin(time), "b_pos": np.cos(time)}
    csv = _write(tmp_path / "run.csv", table)
    np.savez(tmp_path / "run.npz", t=time, c_pos=np.sin(time))
    assert main(["convert", str(csv), "--map"]) == 0
    assert (tmp_path / "run.csv.log.yaml").is_file()
    (actor,) = mjrig.read_recording(tmp_path / "run.npz").actors.values()
    assert [joint.name for joint in actor.joints] == ["c"]
    (tmp_path / "run.csv.log.yaml").rename(tmp_path / "run.log.yaml")
    notes = mjrig.read_recording(csv).notes
    assert any(n.startswith("run.log.yaml is not read: the mapping of run.csv is") for n in notes)
    capsys.readouterr()
    hint = f"map={tmp_path / 'run.log.yaml'}"
    assert main(["info", str(tmp_path / "run.npz"), "--hint", hint]) in (0, 1)
    said = capsys.readouterr()
    assert "a_pos" in said.out + said.err
