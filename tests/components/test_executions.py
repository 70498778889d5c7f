"""Four ways to execute, one behaviour: native, compiled and auto against python, bit for bit."""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import yaml

import mjrig
from mjrig.components import (
    PDController,
    PIDController,
)
from tests.worlds import make_world

Array = npt.NDArray[np.float64]
SCENES = Path(__file__).parents[2] / "config" / "scenes"
FAST = ("native", "compiled", "auto")
ALL = ("python", *FAST)


# Models, scenes and worlds ----------------------------------------------------------------------

#: Every sort of limit and gear there is, one motor each.
MOTORS = (
    'name="a" joint="one" gear="1"',
    'name="b" joint="two" gear="3" ctrlrange="-2 2"',
    'name="c" joint="three" gear="6.33" forcerange="-1 1.5"',
    'name="d" joint="four" gear="0.1"',
    'name="e" joint="five" gear="-2"',
)
JOINTS = ("one", "two", "three", "four", "five")


def chain(count: int = 5, *, damping: float = 0.0, option: str = "") -> str:
    """A hanging chain of hinges, one motor each; joint `four` has an actuatorfrcrange."""
    bodies = ""
    for k, name in enumerate(JOINTS[:count]):
        limit = 'actuatorfrcrange="-3 3"' if name == "four" else ""
        axis = ("0 1 0", "1 0 0")[k % 2]
        bodies += f'<body pos="0 0 -0.2"><joint name="{name}" axis="{axis}" {limit}/><geom/>'
    motors = "".join(f"<motor {m}/>" for m in MOTORS[:count])
    return f"""
    <mujoco>
      <compiler angle="radian" autolimits="true"/>
      <option timestep="0.001" {option}/>
      <default>
        <geom type="capsule" size="0.03" fromto="0 0 0 0 0 -0.2" contype="0" conaffinity="0"/>
        <joint armature="0.02" damping="{damping}" range="-2 2" limited="false"/>
      </default>
      <worldbody>{bodies}{"</body>" * count}</worldbody>
      <actuator>{motors}</actuator>
      <keyframe><key name="bent" qpos="{" ".join(["0.3"] * count)}"/></keyframe>
    </mujoco>"""


def chain_world(execution: str, *components: mjrig.ActorComponent, **more: Any) -> mjrig.World:
    """The chain under its own copies of some components."""
    xml = more.pop("xml", None) or chain()
    return make_world(xml, [c.copy() for c in components], execution=execution, **more)


Stack = Mapping[str, object]
LIMITS = {"torque_limit": 4.0}
STACKS: dict[str, Stack] = {
    "pd": {},
    "pid": {"ki": 30.0},
    "pid saturated": {"ki": 30.0, "integral_max": 0.002},
    "delay 0": {"delay": {"steps": 0}},
    "delay 1": {"delay": {"steps": 1}},
    "delay 3": {"delay": {"steps": 3}},
    "delay mixed": {"delay": {"steps": "mixed"}},
    "pid and delay": {"ki": 30.0, "integral_max": 0.01, "delay": {"steps": "mixed"}},
}


def component_of(stack: Stack, count: int, **values: object) -> PDController:
    """The controller of a stack for so many actuators."""
    given = {**deepcopy(dict(stack)), **values}
    delay = given.get("delay")
    if delay == {"steps": "mixed"}:
        given["delay"] = {"steps": [(0, 1, 3, 2)[i % 4] for i in range(count)]}
    return (PIDController if "ki" in given else PDController)(**given)


def bundled(name: str, stack: Stack) -> mjrig.Scene:
    """A bundled scene whose controller has a stack too."""
    file = SCENES / f"{name}.yaml"
    text = yaml.safe_load(file.read_text(encoding="utf-8"))
    found = text["actors"][0]["components"][0]
    size = len(mjrig.World(file, "python")[name].controllers[0].bindings)
    for key, value in component_of(stack, size).to_data().items():
        found[key] = value
    return mjrig.Scene.parse(yaml.safe_dump(text), base=SCENES)


# Trajectories -----------------------------------------------------------------------------------


def command(robot: mjrig.Articulation, step: int) -> None:
    """Setpoints that move: position, velocity and feedforward, out of phase."""
    setpoints = robot.setpoints
    count = len(setpoints.names)
    phase = 0.004 * step + np.arange(count)
    rest = robot.model_map.initial.qpos[-1] if step < 0 else REST[robot.name, count]
    setpoints.position[:] = rest + 0.3 * np.sin(phase)
    setpoints.velocity[:] = 0.6 * np.cos(1.3 * phase)
    setpoints.feedforward[:] = 0.5 * np.sin(0.7 * phase)


REST: dict[tuple[str, int], Array] = {}


def trajectory(world: mjrig.World, steps: int, *, hold: int = 1, chunk: int = 1) -> Array:
    """qpos and qvel after every `hold` steps, with new setpoints every `hold` steps."""
    for robot in world.articulations.values():
        REST.setdefault((robot.name, len(robot.setpoints.names)), robot.setpoints.position.copy())
    found = []
    for step in range(0, steps, hold):
        for robot in world.articulations.values():
            command(robot, step)
        for _ in range(hold // chunk):
            assert world.step(chunk) == chunk
        found.append(np.concatenate([world.data.qpos, world.data.qvel]))
    return np.array(found)


def same_everywhere(make: Callable[[str], mjrig.World], steps: int, names: Sequence[str]) -> None:
    """Every execution has the bits of python, step by step and in chunks of 20."""
    moving = trajectory(make("python"), steps)
    held = trajectory(make("python"), 400, hold=20)
    assert np.isfinite(moving).all() and np.ptp(moving, axis=0).max() > 0.05
    for name in names:
        assert np.array_equal(trajectory(make(name), steps), moving), name
        assert np.array_equal(trajectory(make(name), 400, hold=20), held), name
        assert np.array_equal(trajectory(make(name), 400, hold=20, chunk=20), held), name
    assert np.array_equal(trajectory(make("python"), 400, hold=20, chunk=20), held)


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("scene", ["pendulum", "quadruped", "humanoid", "arm"])
def test_a_bundled_robot_moves_the_same_however_it_is_executed(scene: str, stack: str) -> None:
    source = bundled(scene, STACKS[stack])
    assert mjrig.World(source).execution == "native"
    steps = 500 if scene == "humanoid" else 2000
    same_everywhere(lambda name: mjrig.World(source, name), steps, ("native", "compiled"))


@pytest.mark.parametrize("damping", [0.0, 0.3])
@pytest.mark.parametrize("stack", STACKS)
def test_gears_and_limits_change_no_bit(stack: str, damping: float) -> None:
    controller = component_of(STACKS[stack], 5, kp=[9, 40, 90, 6, 25], kv=0.7, **LIMITS)

    def make(execution: str) -> mjrig.World:
        return chain_world(execution, controller, xml=chain(damping=damping))

    assert make("auto").execution == "native"
    same_everywhere(make, 2000, FAST)
