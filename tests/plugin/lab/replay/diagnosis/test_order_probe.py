"""Short runs with other joint orders tell whether the declared one is right."""

from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import mjrig
from mjrig.core.findings import warning
from mjrig.lab.replay.diagnosis.order_hypotheses import mirrored
from mjrig.lab.replay.diagnosis.order_probe import (
    DECLARED,
    OrderProbe,
    better_order,
    order_probe,
    orders,
    suspicion,
    telling_command,
    unclear,
)
from tests.worlds import make_world, refused

SCENE = Path(str(files("mjrig.config").joinpath("scenes", "quadruped_walk.yaml")))
POLICY = Path(str(files("mjrig.assets").joinpath("walk", "policy.yaml")))
#: Forward and turning; sides that are swapped show best then.
COMMAND = (0.5, 0.0, 0.3)


def walk(folder: Path, order: list[int]) -> Path:
    """The bundled policy with its joints in another order."""
    data: dict[str, Any] = yaml.safe_load(POLICY.read_text(encoding="utf-8"))
    data["joints"] = [data["joints"][i] for i in order]
    data["network"] = str(POLICY.with_name(data["network"]))
    path = folder / "policy.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    return path


@pytest.fixture(scope="module")
def world() -> mjrig.World:
    """The bundled quadruped with its policy."""
    pytest.importorskip("onnxruntime")
    return mjrig.World(mjrig.Scene.load(SCENE))


def test_the_right_order_is_best_and_nothing_is_said(world: mjrig.World) -> None:
    probes = order_probe(POLICY, world, command=COMMAND)
    assert probes[0].name == DECLARED
    assert {p.name for p in probes} == {
        DECLARED, "left and right swapped", "front and rear swapped", "the joints breadth first",
    }  # fmt: skip
    assert (suspicion(probes), unclear(probes, COMMAND)) == ({}, {})


@pytest.mark.parametrize("sides", ["left and right", "front and rear"])
def test_swapped_sides_are_named_though_the_robot_stays_up(
    world: mjrig.World, sides: str, tmp_path: Path
) -> None:
    order = mirrored(yaml.safe_load(POLICY.read_text(encoding="utf-8"))["joints"], sides)
    assert order is not None
    probes = order_probe(walk(tmp_path, order.tolist()), world, command=COMMAND, seconds=2.0)
    declared = next(p for p in probes if p.name == DECLARED)
    assert not declared.fell
    evidence = suspicion(probes)
    assert evidence == {
        "cost": [declared.cost], "order": f"{sides} swapped", "least": probes[0].cost,
        "upright": pytest.approx(1.0, abs=0.005),
    }  # fmt: skip


@pytest.mark.parametrize("seed", [0, 4])
def test_any_other_order_is_told(world: mjrig.World, seed: int, tmp_path: Path) -> None:
    order = np.random.default_rng(seed).permutation(12).tolist()
    probes = order_probe(walk(tmp_path, order), world, command=COMMAND, seconds=2.0)
    assert suspicion(probes)["order"] == "the model's joint order"


def probe(name: str, cost: float, **more: Any) -> OrderProbe:
    values: dict[str, Any] = {"fell": False, "duration": 3.0, "upright": 1.0}
    values |= {"tracking_error": 0.1, "saturation": 0.0, "restlessness": 0.0}
    return OrderProbe(name, (), cost, **(values | more))


@pytest.mark.parametrize(
    ("declared", "bad"),
    [
        ({"fell": True, "duration": 0.84}, {"fell": [0.84]}),
        ({"upright": 0.5}, {"tilt": [60.0]}),
        ({"tracking_error": 0.55}, {"missed": [0.55, 0.583]}),
        ({"goal": (1.2, 0.9)}, {"goal": [68.75, 51.57]}),
    ],
)
def test_a_bad_run_is_told_though_no_order_is_better(
    declared: dict[str, Any], bad: dict[str, list[float]]
) -> None:
    probes = [probe("left and right swapped", 7.0, fell=True), probe(DECLARED, 7.5, **declared)]
    assert better_order(probes, COMMAND) is None
    evidence = unclear(probes, COMMAND)
    assert evidence == {name: pytest.approx(values, abs=0.01) for name, values in bad.items()}
    (value, *_), text = (
        evidence.popitem()[1],
        warning("unclear", "dog", **unclear(probes, COMMAND)).text,
    )
    assert f"{value:.2g}" in text or f"{value:.0f}°" in text


def test_an_order_with_which_the_robot_only_stands_is_not_named() -> None:
    fell = probe(DECLARED, 7.5, fell=True)
    stands = probe("left and right swapped", 0.6, tracking_error=0.56)
    walks = probe("left and right swapped", 0.2)
    assert suspicion([stands, fell])
    assert better_order([stands, fell], COMMAND) is None and unclear([stands, fell], COMMAND)
    assert better_order([walks, fell], COMMAND) is walks and not unclear([walks, fell], COMMAND)


def test_two_orders_that_do_well_say_nothing() -> None:
    probes = [probe("left and right swapped", 0.02), probe(DECLARED, 0.09)]
    assert (suspicion(probes), unclear(probes, COMMAND)) == ({}, {})


@pytest.mark.parametrize(
    ("declared", "best", "suspected"),
    [
        ({"cost": 1.0}, {"cost": 0.7}, False),
        ({"cost": 1.0}, {"cost": 0.5}, True),  # below six tenths of it
        ({"cost": 0.15}, {"cost": 0.075}, False),
        ({"cost": 0.25}, {"cost": 0.125}, True),  # and by a tenth
        ({"cost": 1.0, "upright": 0.85}, {"cost": 0.7}, False),
        ({"cost": 1.0, "upright": 0.75}, {"cost": 0.7}, True),  # it tilts by more than 37°
        ({"cost": 1.0, "goal": (1.0, 0.4)}, {"cost": 0.7}, False),
        ({"cost": 1.0, "goal": (1.0, 0.6)}, {"cost": 0.7}, True),  # half of the way is left
    ],
)
def test_an_order_is_suspected_if_another_does_clearly_better(
    declared: dict[str, Any], best: dict[str, Any], suspected: bool
) -> None:
    probes = [probe("left and right swapped", **best), probe(DECLARED, **declared)]
    assert bool(suspicion(probes)) == suspected


@pytest.mark.parametrize(("error", "misses"), [(0.8, False), (0.97, True)])
def test_a_run_misses_its_command_by_nine_tenths(error: float, misses: bool) -> None:
    assert bool(unclear([probe(DECLARED, 1.0, tracking_error=error)], (1.0, 0.0))) == misses


def test_the_command_of_a_probe_is_a_slow_walk_in_a_circle(tmp_path: Path) -> None:
    """Within what the policy was trained for; a circle of some metres fits 3 s."""
    command = telling_command(POLICY)
    assert command is not None
    forward, sideways, turn = command
    assert 0.3 < forward < 0.8 and sideways == 0.0
    assert 1.0 < forward / turn < 2.5
    path = tmp_path / "policy.yaml"
    ranges = [[-0.2, 0.2], [0.1, 0.2], [-0.1, 0.1]]
    names = ["vx", "vy", "wz"]
    path.write_text(
        yaml.safe_dump({"joints": ["a"], "command": {"names": names, "ranges": ranges}})
    )
    assert telling_command(path) == [0.2, 0.1, 0.1]


def test_breadth_first_is_left_and_right_in_turn() -> None:
    leg = (
        '<body><joint name="{0}_hip"/><geom size=".1"/>'
        '<body><joint name="{0}_knee"/><geom size=".1"/></body></body>'
    )
    names = ["left_hip", "left_knee", "right_hip", "right_knee"]
    motors = "".join(f'<motor name="{n}" joint="{n}"/>' for n in names)
    world = make_world(
        f"<mujoco><worldbody>{leg.format('left')}{leg.format('right')}</worldbody>"
        f"<actuator>{motors}</actuator></mujoco>"
    )
    robot = next(iter(world.articulations.values()))
    assert dict(orders(names, robot, world)) == {
        DECLARED: names,
        "left and right swapped": ["right_hip", "right_knee", "left_hip", "left_knee"],
        "the joints breadth first": ["left_hip", "right_hip", "left_knee", "right_knee"],
    }


def test_siblings_by_name_are_an_order_of_their_own() -> None:
    leg = (
        '<body name="{0}_leg"><joint name="{0}_hip"/><geom size=".1"/>'
        '<body name="{0}_foot"><joint name="{0}_knee"/><geom size=".1"/></body></body>'
    )
    sides = ("LF", "RF", "LH")
    motors = "".join(
        f'<motor joint="{s}_{j}" name="{s}_{j}"/>' for s in sides for j in ("hip", "knee")
    )
    world = make_world(
        f"<mujoco><worldbody>{''.join(leg.format(side) for side in sides)}</worldbody>"
        f"<actuator>{motors}</actuator></mujoco>"
    )
    robot = next(iter(world.articulations.values()))
    found = dict(orders([b.joint for b in robot.actuators], robot, world))
    assert found["the joints breadth first, siblings by name"] == [
        "LF_hip", "LH_hip", "RF_hip", "LF_knee", "LH_knee", "RF_knee",
    ]  # fmt: skip


def test_a_file_that_is_no_policy_is_refused(world: mjrig.World, tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text("network: net.onnx\n")
    with refused(mjrig.RecordingError, f"{path}: … policy file: … joints"):
        order_probe(path, world)
