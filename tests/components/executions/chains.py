"""A chain of hinges under any controller, and what compares its executions bit for bit."""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import yaml

import mjrig
from mjrig.components import (
    Law,
    PDController,
    PIDController,
)
from mjrig.components.controllers.pipeline_controller import PipelineController
from mjrig.core.properties.scalar_kinds import Float
from tests.campaign import amount
from tests.worlds import make_world

Array = npt.NDArray[np.float64]
Make = Callable[[str], mjrig.World]
Edit = Callable[[mjrig.World], object]
Values = Mapping[str, object]
SCENES = Path(str(files("mjrig.config").joinpath("scenes")))
FAST = ("native", "compiled", "auto")
ALL = ("python", *FAST)
#: Steps of a long comparison.
LONG = amount(150, 5000)
JOINTS = ("one", "two", "three", "four", "five")
#: Every sort of gear and limit there is, one motor each.
MOTORS = (
    'name="a" joint="one" gear="1"',
    'name="b" joint="two" gear="3" ctrlrange="-0.5 0.5"',
    'name="c" joint="three" gear="6.33" forcerange="-0.2 0.3"',
    'name="d" joint="four" gear="0.1"',
    'name="e" joint="five" gear="-2"',
)


def chain(
    motors: Sequence[str] = MOTORS, *, damping: float = 0.0, joint: str = "", option: str = ""
) -> str:
    """A hanging chain of hinges, one motor each; joint `four` has an actuatorfrcrange."""
    bodies = ""
    for k, name in enumerate(JOINTS[: len(motors)]):
        limit = 'actuatorfrcrange="-1 1"' if name == "four" else ""
        axis = ("0 1 0", "1 0 0")[k % 2]
        bodies += f'<body pos="0 0 -0.2"><joint name="{name}" axis="{axis}" {limit}/><geom/>'
    return f"""
    <mujoco>
      <compiler angle="radian" autolimits="true"/>
      <option timestep="0.001" {option}/>
      <default>
        <geom type="capsule" size="0.03" fromto="0 0 0 0 0 -0.2" contype="0" conaffinity="0"/>
        <joint armature="0.02" damping="{damping}" {joint}/>
      </default>
      <worldbody>{bodies}{"</body>" * len(motors)}</worldbody>
      <actuator>{"".join(f"<motor {m}/>" for m in motors)}</actuator>
      <keyframe><key name="bent" qpos="{" ".join(["0.3"] * len(motors))}"/></keyframe>
    </mujoco>"""


def maker(*components: mjrig.ActorComponent, xml: str = "", **more: Any) -> Make:
    """Makes a world of the chain, or of a model, under copies of these components."""

    def make(execution: str) -> mjrig.World:
        own = [c.copy() for c in components]
        return make_world(xml or chain(), own, execution=execution, **more)

    return make


def of(world: mjrig.World, index: int = 0) -> PipelineController:
    """A controller of the only robot."""
    (robot,) = world.articulations.values()
    controller = robot.controllers[index]
    assert isinstance(controller, PipelineController)
    return controller


def command(robot: mjrig.Articulation, rest: Array, step: int) -> None:
    """Setpoints that move: position, velocity and feedforward, out of phase."""
    phase = 0.004 * step + np.arange(len(rest))
    robot.setpoints.position[:] = rest + 0.3 * np.sin(phase)
    robot.setpoints.velocity[:] = 0.6 * np.cos(1.3 * phase)
    robot.setpoints.feedforward[:] = 0.5 * np.sin(0.7 * phase)


def trajectory(world: mjrig.World, steps: int, *, hold: int = 1, chunk: int = 1) -> Array:
    """qpos and qvel after every `hold` steps, with new setpoints every `hold` steps."""
    robots = [(r, r.setpoints.position.copy()) for r in world.articulations.values()]
    found = []
    for step in range(0, steps, hold):
        for robot, rest in robots:
            command(robot, rest, step)
        for _ in range(hold // chunk):
            assert world.step(chunk) == chunk
        found.append(np.concatenate([world.data.qpos, world.data.qvel]))
    return np.array(found)


def same_everywhere(make: Make, steps: int = 400, names: Sequence[str] = FAST) -> None:
    """Every execution has the bits of python, step by step and in chunks of 20."""
    python = make("python")
    held = trajectory(python, 200, hold=20)
    python.reset()
    moving = trajectory(python, steps)
    assert np.isfinite(moving).all()
    assert np.ptp(moving, axis=0).max() > 0.05
    for name in ("python", *names):
        world = make(name)
        assert np.array_equal(trajectory(world, steps), moving), name
        world.reset()
        assert np.array_equal(trajectory(world, 200, hold=20), held), name
        world.reset()
        assert np.array_equal(trajectory(world, 200, hold=20, chunk=20), held), name


STACKS: dict[str, Values] = {
    "pd": {},
    "pid": {"ki": 30.0},
    "pid saturated": {"ki": 30.0, "integral_max": 0.002},
    "delay 0": {"delay": {"steps": 0}},
    "delay 1": {"delay": {"steps": 1}},
    "delay 3": {"delay": {"steps": 3}},
    "delay mixed": {"delay": {"steps": "mixed"}},
    "pid and delay": {"ki": 30.0, "integral_max": 0.01, "delay": {"steps": "mixed"}},
}


def stacked(stack: str, size: int, **values: Any) -> PDController:
    """The controller of a stack, for so many actuators."""
    found: dict[str, Any] = {**deepcopy(dict(STACKS[stack])), **values}
    if found.get("delay") == {"steps": "mixed"}:
        found["delay"] = {"steps": [(0, 1, 3, 2)[i % 4] for i in range(size)]}
    return (PIDController if "ki" in found else PDController)(**found)


@cache
def bundled_size(name: str) -> int:
    """How many actuators the controller of a bundled scene drives."""
    return mjrig.World(SCENES / f"{name}.yaml", "python")[name].controllers[0].num_bindings


def bundled(name: str, stack: str) -> mjrig.Scene:
    """A bundled scene whose controller has a stack too."""
    file = SCENES / f"{name}.yaml"
    text = yaml.safe_load(file.read_text(encoding="utf-8"))
    text["actors"][0]["components"][0].update(stacked(stack, bundled_size(name)).to_data())
    return mjrig.Scene.parse(yaml.safe_dump(text), base=SCENES)


CURVE = {"saturation_effort": 1.5, "velocity_limit": 4.0, "max_effort": 1.2}
TABLE = {"positions": [-0.5, -0.1, 0.2, 0.2, 0.6], "efforts": [0.4, 1.0, 0.8, 0.5, 0.3]}


def full(**values: Any) -> PIDController:
    """Delay, PID, torque-speed curve, two tables of different lengths, asymmetric limit."""
    short = {"type": "PositionTable", "positions": [-1.0, 1.0], "efforts": [0.6, 1.4]}
    clamps = [
        {"type": "DCMotor", **CURVE},
        {"type": "PositionTable", **TABLE},
        short,
        {"type": "MaxEffort", "max_effort": 0.9, "min_effort": -0.4},
    ]
    more: dict[str, Any] = {"delay": {"steps": 2}, "clamps": clamps, **values}
    return PIDController(kp=30, ki=20, kv=0.5, integral_max=0.01, torque_limit=0.8, **more)


def state_of(world: mjrig.World) -> dict[str, Array]:
    """Everything that means the same in every execution."""
    found = {"qpos": world.data.qpos.copy(), "qvel": world.data.qvel.copy()}
    for robot in world.articulations.values():
        for name in ("effort", "raw_effort", "applied_effort"):
            found[f"{robot.name}.{name}"] = getattr(robot, name)
        for controller in robot.controllers:
            if isinstance(controller, PipelineController):
                for clamp, count in controller.clamp_counts.items():
                    found[f"{controller.label}.{clamp}"] = count
    return found


def assert_same(python: mjrig.World, other: mjrig.World, when: object) -> None:
    expected, found = state_of(python), state_of(other)
    assert list(expected) == list(found)
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=f"{name} at {when}")
    assert [str(e) for e in other.events] == [str(e) for e in python.events]


def lockstep(
    make: Make,
    edits: Mapping[int, Sequence[Edit]] | None = None,
    *,
    steps: int = 60,
    names: Sequence[str] = FAST,
    moving: bool = True,
) -> list[mjrig.World]:
    """Step python and others together, edit them alike, and compare all after every step."""
    python, *others = worlds = [make("python"), *(make(name) for name in names)]
    rest = python["robot"].setpoints.position.copy()
    for step in range(steps):
        for world in worlds:
            if moving and not world["robot"].setpoints.leases:
                command(world["robot"], rest, 5 * step)
            for edit in (edits or {}).get(step, ()):
                edit(world)
        for world in worlds:
            world.step()
        for other in others:
            assert_same(python, other, step)
    return worlds


def pid(**values: Any) -> PIDController:
    """A controller with an integral that saturates, a delay that fills and a limit that acts."""
    usual = {"kp": 20, "kv": 1, "ki": 30, "integral_max": 0.01, "torque_limit": 2.0}
    return PIDController(**{**usual, "delay": {"steps": 3, "max_steps": 6}, **values})


def pid_of(world: mjrig.World) -> PIDController:
    """The controller of such a world."""
    controller = of(world)
    assert isinstance(controller, PIDController)
    return controller


def assign(**values: object) -> Edit:
    """An edit of the controller's properties."""
    return lambda world: of(world).assign(values)


def with_delay(**values: object) -> Edit:
    """An edit of the controller's delay."""

    def edit(world: mjrig.World) -> None:
        delay = of(world).delay
        assert delay is not None
        delay.assign(values)

    return edit


class Twice(Law):
    """A law that is nothing but Python."""

    gain = Float(5.0)

    def compute(
        self, q: Any, qd: Any, target_q: Any, target_qd: Any, feedforward: Any, state: Any,
        dt: float, out: Any,
    ) -> None:  # fmt: skip
        out[...] = 2.0 * self.gain * (target_q - q) - qd
