"""Actuators by chance: authored ones move a robot as the same elements of a model do in MuJoCo."""

import random
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
import pytest

import mjrig
from tests.campaign import Tally
from tests.worlds import make_world

INTEGRATORS = ("Euler", "RK4", "implicit", "implicitfast")
FLAGS = ("clampctrl", "actuation", "gravity", "damper", "refsafe", "eulerdamp", "limit")
DIVERGED = tuple(
    int(getattr(mujoco.mjtWarning, f"mjWARN_BAD{what}")) for what in ("QPOS", "QVEL", "QACC")
)
BODIES = """
<compiler angle="radian" autolimits="true"/>
<default><geom contype="0" conaffinity="0"/></default>
<worldbody>
  <body name="upper">
    <joint name="shoulder" axis="0 1 0" armature=".05" damping=".2" range="-2 1.5"/>
    <geom type="capsule" size=".03" fromto="0 0 0 .3 0 0"/>
    <site name="hand" pos=".1 0 .1"/>
    <body name="lower" pos=".3 0 0">
      <joint name="elbow" type="slide" axis="1 0 0" range="-.2 .3" damping=".5"/>
      <geom name="box" type="box" size=".05 .04 .03"/>
      <site name="tip" pos=".1 0 0"/>
      <body name="wrist" pos=".1 0 0"><joint name="ball" type="ball" damping=".01"/>
        <geom size=".04" pos=".05 0 0"/></body>
    </body>
  </body>
  <site name="slider" pos="0 .2 .1" zaxis="1 0 0"/>
</worldbody>
<tendon><fixed name="cable" range="-1 1"><joint joint="shoulder" coef="1"/>
  <joint joint="elbow" coef="-2"/></fixed></tendon>
"""
Values = dict[str, Any]


def number(rng: random.Random, low: float, high: float) -> float:
    return round(rng.uniform(low, high), 3)


def interval(rng: random.Random, size: float) -> list[float]:
    return [-number(rng, 0.05, size), number(rng, 0.05, size)]


def target(rng: random.Random) -> Values:
    """A joint, tendon, site with or without reference, or slider-crank."""
    kind = rng.choice(("shoulder", "elbow", "ball", "cable", "site", "refsite", "crank"))
    if kind == "ball":
        return {"joint": "ball", "gear": [0, number(rng, 0.5, 2), 0]}
    if kind == "cable":
        return {"tendon": "cable", "gear": [number(rng, -3, 3) or 1.0]}
    if kind == "site":
        return {"site": "tip", "gear": [0, 0, number(rng, 0.5, 2), 0, 0.3, 0]}
    if kind == "refsite":
        return {"site": "tip", "refsite": "hand", "gear": [1, 0, 0.5, 0, 0.2, 0]}
    if kind == "crank":
        return {"cranksite": "hand", "slidersite": "slider", "cranklength": 0.6}
    return {"joint": kind, "gear": [number(rng, -3, 3) or 1.0]}


def general(rng: random.Random) -> Values:
    values: Values = {"gainprm": [number(rng, -5, 5)]}
    if rng.random() < 0.6:
        values |= {"biastype": "affine", "biasprm": [number(rng, -2, 2) for _ in range(3)]}
        values["biasprm"][2] = -abs(values["biasprm"][2])
    dynamics = rng.choice(("none", "integrator", "filter", "filterexact"))
    if dynamics != "none":
        values |= {"dyntype": dynamics, "dynprm": [number(rng, 0.01, 0.2)]}
        values |= {"actrange": interval(rng, 1.0)} if rng.random() < 0.5 else {}
        values |= {"actearly": True} if rng.random() < 0.5 else {}
    return values


def servo(rng: random.Random) -> Values:
    values: Values = {"kp": number(rng, 0, 60)}
    values |= {"kv": number(rng, 0, 3)} if rng.random() < 0.6 else {}
    return values | ({"timeconst": number(rng, 0.01, 0.1)} if rng.random() < 0.3 else {})


LAWS: dict[str, tuple[str, Callable[[random.Random], Values]]] = {
    "GeneralActuator": ("general", general),
    "MotorActuator": ("motor", lambda rng: {}),
    "PositionActuator": ("position", servo),
    "VelocityActuator": ("velocity", lambda rng: {"kv": number(rng, 0, 5)}),
    "IntVelocityActuator": (
        "intvelocity",
        lambda rng: {"kp": number(rng, 1, 40), "actrange": interval(rng, 1.0)},
    ),
    "DamperActuator": (
        "damper",
        lambda rng: {"kv": number(rng, 0, 5), "ctrlrange": [0, number(rng, 0.1, 2)]},
    ),
    "CylinderActuator": (
        "cylinder",
        lambda rng: {
            "timeconst": number(rng, 0.01, 0.3),
            "area": number(rng, 0.1, 3),
            "bias": [number(rng, -1, 1), number(rng, -2, 0), number(rng, -1, 0)],
        },
    ),
    "MuscleActuator": (
        "muscle",
        lambda rng: {"force": number(rng, 1, 20), "lengthrange": [-0.5, 0.5]},
    ),
}


def drawn(rng: random.Random) -> tuple[str, Values]:
    """A type of actuator, and its properties."""
    name = rng.choice(list(LAWS))
    values = target(rng) | LAWS[name][1](rng)
    if "ctrlrange" not in values and rng.random() < 0.5:
        values["ctrlrange"] = interval(rng, 2.0)
        if rng.random() < 0.3:
            values["ctrllimited"] = False
    if rng.random() < 0.4:
        values["forcerange"] = interval(rng, 5.0)
    if rng.random() < 0.2 and "joint" in values and values["joint"] != "ball":
        values |= {"damping": [number(rng, 0, 0.5)], "armature": number(rng, 0, 0.05)}
    if rng.random() < 0.3:
        values |= {"nsample": 6, "delay": rng.choice((0.002, 0.003, 0.008)), "interp": "linear"}
    if rng.random() < 0.3:
        values["group"] = rng.randint(0, 2)
    return name, values


def written(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def model_text(inside: str, option: str) -> str:
    return f"<mujoco>{option}{BODIES}<actuator>{inside}</actuator></mujoco>"


def option_text(rng: random.Random) -> str:
    flags = " ".join(f'{name}="disable"' for name in FLAGS if rng.random() < 0.15)
    groups = 'actuatorgroupdisable="1"' if rng.random() < 0.3 else ""
    integrator = rng.choice(INTEGRATORS)
    return f'<option timestep="0.002" integrator="{integrator}" {groups}><flag {flags}/></option>'


def in_mujoco(xml: str, commands: list[float]) -> list[list[float]]:
    """Positions, velocities, activations and force after each step; none of them if it diverges."""
    model = mujoco.MjModel.from_xml_string(xml)
    data, states = mujoco.MjData(model), []
    for command in commands:
        data.ctrl[0] = command
        mujoco.mj_step(model, data)
        states.append([*data.qpos, *data.qvel, *data.act, *data.actuator_force])
    return states if not any(data.warning[kind].number for kind in DIVERGED) else []


@pytest.mark.campaign
def test_authored_actuators_move_a_robot_as_those_of_a_model_do(tally: Tally) -> None:
    refused = 0
    for rng in tally.cases("authored actuators against MuJoCo", 60, 5_000, minutes=2.0):
        name, values = drawn(rng)
        option = option_text(rng)
        attributes = " ".join(f'{key}="{written(value)}"' for key, value in values.items())
        element = f'<{LAWS[name][0]} name="drive" {attributes}/>'
        commands = [number(rng, -2, 2) for _ in range(30)]
        try:
            states = in_mujoco(model_text(element, option), commands)
        except ValueError:  # MuJoCo does not compile it
            refused += 1
            continue
        if not states:
            continue
        case = f"{name} {values} {option}"
        try:
            world = make_world(
                model_text("", option), actuators=[{"type": name, "name": "drive", **values}]
            )
        except mjrig.MjrigError as error:
            tally.found(f"{case}: {error}")
            continue
        robot, data = world["robot"], world.data
        authored = world.scene.actors[0].actuators[0]  # type: ignore[union-attr]
        snapshot = None
        for step, command in enumerate(commands):
            robot.set_targets({"drive": command})
            if step == 10:
                snapshot = world.snapshot()
            world.step()
            found = [*data.qpos, *data.qvel, *data.act, *data.actuator_force]
            if found != states[step]:
                difference = np.abs(np.subtract(found, states[step])).max()
                tally.found(f"{case}: differs by {difference:g} at step {step}")
                break
            if authored.applied_force != data.actuator_force[0] or authored.ctrl != data.ctrl[0]:
                tally.found(f"{case}: reads {authored.applied_force}, {authored.ctrl}")
                break
        else:
            assert snapshot is not None
            world.restore(snapshot)
            for command in commands[10:]:
                robot.set_targets({"drive": command})
                world.step()
            if [*data.qpos, *data.qvel, *data.act, *data.actuator_force] != states[-1]:
                tally.found(f"{case}: another end after a snapshot was restored")
    assert refused < tally.tried / 4
