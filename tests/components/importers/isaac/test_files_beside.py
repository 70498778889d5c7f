"""Runs made at random with one thing that no exporter writes: refused, or listed, never dropped."""

import copy
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mjrig
from mjrig.components.importers.policy_import import import_policy
from tests.campaign import Tally
from tests.components.importers import biped
from tests.components.importers.isaac import runs
from tests.components.importers.isaac.test_generated_runs import some_run, write_networks

Change = Callable[[runs.Data, random.Random], list[str]]


def said(folder: Path, data: runs.Data) -> str:
    """What an import of a run says: its findings, or why it is refused."""
    write_networks(folder / "params", data["scene"]["robot"]["actuators"])
    model = runs.model(folder)
    config, out = runs.write(folder, data), folder / "out" / "scene.yaml"
    size, count = runs.sizes(model, runs.env(observations=data["observations"]))
    network = biped.network(folder / "policy.onnx", size, count)
    try:
        found = import_policy([config], network, model, out, overwrite=True)
    except mjrig.MjrigError as error:
        return f"refused: {error}"
    return "\n".join(f"{f.kind}: {f}" for f in found.findings)


def _groups(data: runs.Data) -> dict[str, Any]:
    found: dict[str, Any] = data["scene"]["robot"]["actuators"]
    return found


def _of(group: dict[str, Any]) -> list[str]:
    return [j for j in runs.JOINTS if any(re.fullmatch(p, j) for p in group["joint_names_expr"])]


def unknown_field(data: runs.Data, rng: random.Random) -> list[str]:
    name = rng.choice(("lag", "alpha", "rescale", "smooth_by", "gear"))
    value = rng.choice((True, 0.5, -3, "fast", [1.0, 2.0], {"a": 1.0}))
    terms = [t for t in data["observations"]["policy"].values() if isinstance(t, dict)]
    owner = rng.choice([*terms, *data["actions"].values(), *_groups(data).values()])
    owner[name] = value
    return ["not-taken-over", name]


def second_group(data: runs.Data, rng: random.Random) -> list[str]:
    joint = rng.choice(runs.JOINTS)
    owner = next(n for n, g in _groups(data).items() if joint in _of(g))
    _groups(data)["again"] = runs.actuators("IdealPDActuator", joint_names_expr=[joint])
    return ["refused", owner, "again", joint]


def uncovered_joint(data: runs.Data, rng: random.Random) -> list[str]:
    joint = rng.choice(runs.JOINTS)
    data["scene"]["robot"]["actuators"] = {
        "rest": runs.actuators("IdealPDActuator", joint_names_expr=[f"(?!{joint}).*"])
    }
    return ["refused", f"no group of actuators drives {joint}"]


def two_patterns(data: runs.Data, rng: random.Random) -> list[str]:
    joint = rng.choice(runs.JOINTS)
    values = {".*": 0.4, joint: 0.3}
    action = next(iter(data["actions"].values()))
    place = rng.choice(("scale", "clip", "offset", "pose", "stiffness"))
    if place == "pose":
        data["scene"]["robot"]["init_state"]["joint_pos"] = values
    elif place == "stiffness":
        group = runs.actuators("IdealPDActuator", stiffness=values)
        data["scene"]["robot"]["actuators"] = {"all": group}
    else:
        pairs = {pattern: [-v, v] for pattern, v in values.items()}
        action[place] = pairs if place == "clip" else values
    return ["refused", "'.*'", f"{joint!r}"]


def pattern_for_nothing(data: runs.Data, rng: random.Random) -> list[str]:
    action = next(iter(data["actions"].values()))
    place = rng.choice(("scale", "clip", "pose", "group"))
    if place == "pose":
        data["scene"]["robot"]["init_state"]["joint_pos"] = {".*": 0.1, "wing_.*": 0.4}
    elif place == "group":
        _groups(data)["wings"] = runs.actuators(joint_names_expr=["wing_.*"])
    else:
        action[place] = {"wing_.*": [-1.0, 1.0] if place == "clip" else 0.5}
    return ["unmatched", "wing_.*"]


def other_joint(data: runs.Data, rng: random.Random) -> list[str]:
    action = next(iter(data["actions"].values()))
    action["joint_names"] = [*action["joint_names"], "left_wing_joint"]
    return ["left_wing_joint"]


def velocity(data: runs.Data, rng: random.Random) -> list[str]:
    key = rng.choice(("lin_vel", "ang_vel", "joint_vel"))
    given = {".*": 0.3} if key == "joint_vel" else (0.5, 0.0, 0.0)
    data["scene"]["robot"]["init_state"][key] = given
    return ["not-imported", key]


def modifier(data: runs.Data, rng: random.Random) -> list[str]:
    terms = [t for t in data["observations"]["policy"].values() if isinstance(t, dict)]
    rng.choice(terms)["modifiers"] = [{"func": "isaaclab.utils.modifiers:DigitalFilter"}]
    return ["refused", "DigitalFilter"]


CHANGES: tuple[Change, ...] = (
    unknown_field, second_group, uncovered_joint, two_patterns, pattern_for_nothing, other_joint,
    velocity, modifier,
)  # fmt: skip


def all_moved(rng: random.Random) -> runs.Data:
    """A run whose one action moves all joints."""
    data = some_run(rng)
    data["actions"] = {"joints": runs.action(scale=0.25)}
    return data


@pytest.mark.campaign
def test_what_no_exporter_writes_is_refused_or_listed(tmp_path: Path, tally: Tally) -> None:
    for rng in tally.cases("files beside those of Isaac Lab", 40, 2000):
        data, change = all_moved(rng), rng.choice(CHANGES)
        before = copy.deepcopy(data)
        wanted = change(data, rng)
        assert data != before
        text = said(tmp_path, data)
        missing = [word for word in wanted if word not in text]
        if missing:
            tally.found(f"{change.__name__}: {missing} not in {text}\n{data}")
