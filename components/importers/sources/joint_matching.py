"""ImportCase: a policy on a robot; its joints in the model, or the signs of a different robot."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from mjrig.components.importers.sources.policy_description import FoundPolicy, ValueOrder
from mjrig.components.importers.sources.robot import Robot
from mjrig.components.importers.sources.source import PolicySource
from mjrig.core.errors import BindingError, SceneError, Wording, option
from mjrig.core.names import how_many, listed, nearest

#: Synonyms in joint names of other files.
_SYNONYMS = (("foot", "wheel"),)
_SUFFIXES = ("_joint", "_motor", "_act", "_actuator")
#: Robots that files and models name; the longest name counts: h1_2, not h1.
_KNOWN = ("a1", "aliengo", "anymal", "apollo", "atlas", "b1", "b2", "b2w", "berkeley", "cassie",
          "go1", "go2", "go2w", "g1", "gr1t1", "gr1t2", "h1", "h1_2", "h2", "k1", "leap", "lite3",
          "n1", "op3", "r1", "spot", "t1", "tita")  # fmt: skip


Value = TypeVar("Value")
#: Largest deviation of a tick from a whole number of steps.
ROUNDING = 1e-6
#: Usual timesteps, tried where neither file nor model has one that divides the tick [s].
USUAL = (0.002, 0.001, 0.005, 0.0025, 0.004)


@dataclass(frozen=True)
class Matched:
    """The joints of a policy in the model.

    Attributes:
        joints: local joint names, in policy order.
        aliases: names in the source → names here, where they differ.
        extra: joints with a motor that the policy does not drive.
    """

    joints: tuple[str, ...]
    aliases: dict[str, str]
    extra: tuple[str, ...]


@dataclass(frozen=True)
class ImportCase:
    """A policy, the files it is from, and its joints in the model."""

    source: PolicySource
    found: FoundPolicy
    matched: Matched

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self.source.robot

    def by_joint(self, values: Sequence[Value]) -> dict[str, Value]:
        """Values in policy order by the joints of the model."""
        return dict(zip(self.matched.joints, values, strict=True))

    @property
    def pose(self) -> dict[str, float]:
        """The default pose by joint."""
        return self.by_joint(self.found.default)

    @cached_property
    def timing(self) -> tuple[float, int]:
        """Timestep [s] and physics steps per tick.

        Raises:
            SceneError: the tick is not a whole number of steps.
        """
        tick, timestep = self.found.tick, self.found.timestep
        for candidate in (self.robot.timestep, *USUAL) if timestep is None else (timestep,):
            steps = _steps(tick, candidate)
            if steps is not None:
                return candidate, steps
        if timestep is None:
            raise SceneError(f"no usual timestep divides the policy's tick of {tick:g} s")
        raise SceneError(
            f"the policy acts every {tick:g} s, which is no multiple of its timestep "
            f"of {timestep:g} s"
        )


def _steps(tick: float, timestep: float) -> int | None:
    ratio = tick / timestep
    if not math.isfinite(ratio):
        return None
    steps = round(ratio)
    return steps if steps >= 1 and abs(ratio - steps) < ROUNDING * steps else None


def match(found: FoundPolicy, robot: Robot) -> Matched:
    """Match the joints of a policy with those of a model.

    Raises:
        BindingError: a joint is not in the model, or it has another number of motors.
    """
    if not robot.driven:
        raise BindingError(
            f"{robot.label}: has no actuator on a joint; add them to the model, or to a scene "
            "(actuators: [{type: MotorActuator, joint: .*}]) and export it"
        )
    if found.order is ValueOrder.NAMES:
        joints, aliases = _by_name(found, robot)
    else:
        joints, aliases = _by_index(found, robot), {}
    extra = tuple(j for j in robot.joints if j not in joints)
    return Matched(joints, aliases, extra)


def _by_index(found: FoundPolicy, robot: Robot) -> tuple[str, ...]:
    motors = robot.joints if found.order is ValueOrder.INDEX else robot.motors
    places = found.motors or tuple(range(found.count))
    highest = max(places, default=-1) + 1
    whole = found.order is ValueOrder.INDEX or sorted(places) == list(range(found.count))
    if highest > len(motors) or (whole and found.count != len(motors)):
        raise BindingError(
            f"the policy moves {how_many(found.count, 'joint')} and has only their indices, but "
            f"{robot.label} has {how_many(len(motors), 'motor')} ({listed(motors)}). "
            + _name_joints(found)
        )
    return tuple(motors[i] for i in places)


def _by_name(found: FoundPolicy, robot: Robot) -> tuple[tuple[str, ...], dict[str, str]]:
    joints, aliases, missing = [], {}, []
    for name in found.names:
        joint = find_joint(name, robot)
        if joint is None:
            missing.append(name)
            continue
        if joint != name:
            aliases[name] = joint
        joints.append(joint)
    if missing:
        raise BindingError(_missing(found, robot, missing))
    twice = next((j for i, j in enumerate(joints) if j in joints[:i]), None)
    if twice is not None:
        names = [n for n in found.names if aliases.get(n, n) == twice]
        raise BindingError(f"{listed(names)} of the policy are all {twice!r} in {robot.label}")
    return tuple(joints), aliases


def _missing(found: FoundPolicy, robot: Robot, missing: Sequence[str]) -> Wording:
    known = len(found.names) - len(missing)
    if known < len(found.names) / 2:
        return (
            f"{known} of the policy's {how_many(len(found.names), 'joint')} are in {robot.label}: "
            f"it has {listed(robot.joints)}; the policy moves {listed(found.names)}. "
            + _name_joints(found)
        )
    close = [(n, nearest(n, robot.joints)) for n in missing]
    hints = [f"{n} (nearest: {c})" if c else n for n, c in close]
    return (
        f"{robot.label} has no joint for {listed(hints)} of the policy; "
        + option("joints")
        + " names them as the model does"
    )


def _name_joints(found: FoundPolicy) -> Wording:
    robot = f" ({found.robot})" if found.robot else ""
    return f"A policy for another robot{robot}? If not, name its joints: " + option("joints")


def find_joint(name: str, robot: Robot) -> str | None:
    """A joint by its own name, its actuator's, or a synonym."""
    by_name = {b.actuator: b.joint for b in robot.driven} | {j: j for j in robot.joints}
    if name in by_name:
        return by_name[name]
    wanted = essence(name)
    fitting = {joint for other, joint in by_name.items() if essence(other) == wanted}
    return fitting.pop() if len(fitting) == 1 else None


def essence(name: str) -> str:
    """A name without what files write differently."""
    text = name.lower().replace("-", "_")
    for suffix in _SUFFIXES:
        text = text.removesuffix(suffix)
    for one, other in _SYNONYMS:
        text = re.sub(rf"(^|_){one}(_|$)", rf"\g<1>{other}\g<2>", text)
    return text


def other_robot(found: FoundPolicy, robot: Robot, robot_name: str = "") -> list[str]:
    """The robot of the files, then those of the model's name or the chosen one; empty if they fit.

    Names of files and folders are hints only; `robot_name` is the robot by a user, who knows.
    """
    theirs = known_robot(found.robot)
    if robot_name:
        fits = not theirs or theirs == (known_robot(robot_name) or robot_name.lower())
        return [] if fits else [theirs, robot_name]
    names = {known_robot(robot.path.resolve().parent.name), known_robot(robot.path.stem)} - {""}
    if theirs and names and theirs not in names:
        return [theirs, *sorted(names)]
    return []


def known_robot(text: str) -> str:
    """The robot a text names: `g1_description` → g1; empty: none that is known."""
    words = f"_{'_'.join(re.split(r'[^a-z0-9]+', text.lower()))}_"
    named = [name for name in _KNOWN if f"_{name}_" in words]
    return max(named, key=len, default="")
