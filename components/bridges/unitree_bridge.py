"""UnitreeBridge: programs written for Unitree's SDK command the actor, unchanged.

`ROBOTS` lists which motor index moves which joint. An index without a joint is an empty text.
Names are matched with or without `_joint` behind them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from mjrig.components.bridges.dds.unitree_messages import (
    GO_MOTORS,
    HG_MOTORS,
    KEYS,
    STICKS,
    TARGETS_AT,
    UnitreeWire,
)
from mjrig.components.bridges.dds_bridge import DdsBridge
from mjrig.components.bridges.motors import Motors, motors_hint
from mjrig.core.arrays import FloatArray
from mjrig.core.control.articulation import Articulation
from mjrig.core.errors import BindingError, PropertyError
from mjrig.core.names import listed, suggestion
from mjrig.core.pattern_program import pattern_budget
from mjrig.core.patterns import compile_pattern
from mjrig.core.properties.actions import action
from mjrig.core.properties.scalar_kinds import Bool, Choice, Int, Patterns, Text

# Unitree robots -----------------------------------------------------------------------------------
# Unitree's robots: which motor index moves which joint.


@dataclass(frozen=True)
class UnitreeRobot:
    """One kind of robot: its message package, its motors, and how it names its own variant."""

    package: str
    motors: tuple[str, ...]
    mode_machine: int = 0
    #: Indices of joints that two motors move through a linkage: ankles, and the waist.
    linked: tuple[int, ...] = ()

    @property
    def slots(self) -> int:
        """Motors in a message."""
        return GO_MOTORS if self.package == "unitree_go" else HG_MOTORS


def _each(prefixes: tuple[str, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{prefix}_{name}" for prefix in prefixes for name in names)


_LEGS = _each(("FR", "FL", "RR", "RL"), ("hip", "thigh", "calf"))
_WHEELS = tuple(f"{leg}_wheel" for leg in ("FR", "FL", "RR", "RL"))
_SIDES = ("left", "right")
_ARM = ("shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow")
_LONG_ARM = (*_ARM, "wrist_roll", "wrist_pitch", "wrist_yaw")
_ANKLE = ("knee", "ankle_pitch", "ankle_roll")
_ANKLES = (4, 5, 10, 11)
_G1_LEGS = _each(_SIDES, ("hip_pitch", "hip_roll", "hip_yaw", *_ANKLE))
_G1_WAIST = ("waist_yaw", "waist_roll", "waist_pitch")

ROBOTS = {
    "go2": UnitreeRobot("unitree_go", _LEGS),
    "b2": UnitreeRobot("unitree_go", _LEGS),
    "go2w": UnitreeRobot("unitree_go", (*_LEGS, *_WHEELS)),
    "b2w": UnitreeRobot("unitree_go", (*_LEGS, *_WHEELS)),
    "h1": UnitreeRobot(
        "unitree_go",
        (
            "right_hip_roll", "right_hip_pitch", "right_knee",
            "left_hip_roll", "left_hip_pitch", "left_knee",
            "torso", "left_hip_yaw", "right_hip_yaw", "", "left_ankle", "right_ankle",
            *_each(("right", "left"), _ARM),
        ),
    ),
    "g1": UnitreeRobot("unitree_hg", (*_G1_LEGS, *_G1_WAIST, *_each(_SIDES, _LONG_ARM)), 5,
                       (*_ANKLES, 13, 14)),
    "h1_2": UnitreeRobot(
        "unitree_hg",
        (
            *_each(_SIDES, ("hip_yaw", "hip_pitch", "hip_roll", *_ANKLE)),
            "torso",
            *_each(_SIDES, _LONG_ARM),
        ),
        linked=_ANKLES,
    ),
}  # fmt: skip


# Unitree bridge -----------------------------------------------------------------------------------


#: How long a key of the script is held [s].
PRESSED = 0.2


class UnitreeKind(StrEnum):
    """Robots whose messages it speaks."""

    GO2 = "go2"
    B2 = "b2"
    GO2W = "go2w"
    B2W = "b2w"
    H1 = "h1"
    G1 = "g1"
    H1_2 = "h1_2"


class UnitreeBridge(DdsBridge):
    """Stands in for a Unitree robot: `rt/lowcmd` in, `rt/lowstate` out, over DDS.

    q, dq, tau, kp and kd of each motor are setpoints, feedforward and gains of the PDController
    that drives its joint, at every physics step.
    """

    wire = "unitree"
    extra = 1 + len(STICKS)

    kind = Choice(
        UnitreeKind.GO2, structural=True, doc="Which robot: its messages and motor order."
    )
    motors_of = Patterns(
        (),
        structural=True,
        refers=("actuator", "joint"),
        doc="Actuator or joint of each motor index, `-` for none; none given: the robot's own.",
    )
    check_crc = Bool(True, category="Safety", doc="Reject commands whose checksum is wrong.")
    mode_machine = Int(
        -1, min=-1, max=255, doc="Variant that the robot reports; -1: the robot's usual one."
    )
    remote = Text("", doc="Keys of the remote control by simulated time: start@2, A@5.5.")

    def prepare(self) -> None:
        super().prepare()
        self._keys: set[str] = set()
        self._sticks = [0.0] * len(STICKS)
        self._script: list[tuple[float, str]] = []

    def validate(self) -> None:
        script(self.remote)

    def on_change(self, names: tuple[str, ...]) -> None:
        super().on_change(names)
        self._script = script(self.remote)
        self._adds = self._adds or bool(self._script)

    @property
    def table(self) -> UnitreeRobot:
        """The robot's messages and motors."""
        return ROBOTS[self.kind.value]

    def make_motors(self, robot: Articulation) -> Motors:
        found, names = _matched(self, robot), robot.actuator_names
        # In the order of the setpoints, so that a command can be copied as it is.
        order = sorted(found, key=lambda i: names.index(found[i].actuator))
        self._used = np.array(order, dtype=np.intp)
        return Motors(robot, [found[i] for i in order], self.label)

    @property
    def motor_indices(self) -> tuple[int, ...]:
        """The motor index of each of its motors."""
        return tuple(self._used.tolist())

    def settings(self) -> Mapping[str, Any]:
        given = self.mode_machine
        return {
            "package": self.table.package,
            "used": self._used.tolist(),
            "linked": self.table.linked,
            "mode_machine": self.table.mode_machine if given < 0 else given,
            "check_crc": self.check_crc,
        }

    def make_wire(self) -> UnitreeWire:
        return UnitreeWire(self.all_settings())

    # Run ----------------------------------------------------------------------------------------

    def use(self, command: "memoryview[float]") -> None:
        motors = self._motors
        assert motors is not None
        gains_at = TARGETS_AT + 3 * len(motors)
        if not motors.runs_gains(command[1]):
            kp, kd = np.array(command[gains_at:]).reshape(2, -1)
            motors.use_gains(kp, kd, command[1])
        motors.command_all(command[TARGETS_AT:gains_at])

    def add(self, extra: FloatArray) -> None:
        extra[0] = self._pressed(float(self.robot.data.time))
        extra[1:] = self._sticks

    def _pressed(self, time: float) -> int:
        held = self._keys
        if self._script:
            held = held | {key for at, key in self._script if at <= time < at + PRESSED}
        return sum(1 << KEYS.index(key) for key in held) if held else 0

    @action
    def press(
        self, keys: str = "", lx: float = 0.0, ly: float = 0.0, rx: float = 0.0, ry: float = 0.0
    ) -> None:
        """Hold keys of the remote control (`start A`) and sticks (−1 to 1) until the next call.

        Raises:
            PropertyError: there is no such key.
        """
        self._keys = {_key(self.label, name) for name in keys.replace(",", " ").split()}
        self._sticks = [float(lx), float(ly), float(rx), float(ry)]
        self._adds = True


def script(text: str) -> list[tuple[float, str]]:
    """Times and keys of `start@2, A@5.5`.

    Raises:
        ValueError: it is something else.
    """
    found = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        key, _, at = part.partition("@")
        try:
            found.append((float(at), _key("remote", key.strip())))
        except ValueError as error:
            if isinstance(error, PropertyError):
                raise
            raise ValueError(f"remote: must be like start@2, A@5.5; got {part!r}") from None
    return found


def _key(where: str, name: str) -> str:
    if name not in KEYS:
        raise PropertyError(f"{where}: no key {name!r}; {suggestion(name, KEYS)}")
    return name


@pattern_budget()
def _matched(bridge: UnitreeBridge, robot: Articulation) -> dict[int, Any]:
    """Actuators by motor index.

    Raises:
        BindingError: a name fits none or several, or the robot is another one.
    """
    given, table = bridge.motors_of, bridge.table
    if len(given) > table.slots:
        raise BindingError(
            f"{bridge.label}.motors_of: a message has {table.slots} motors, got {len(given)}",
            ("motors_of",),
        )
    wanted = given or tuple(f"{name}(_joint)?" if name else "-" for name in table.motors)
    found: dict[int, Any] = {}
    for index, name in enumerate(wanted):
        if name == "-":
            continue
        fits = [
            b
            for b in robot.bindings
            if any(compile_pattern(name).fullmatch(own) for own in b.names)
        ]
        if len(fits) == 1:
            found[index] = fits[0]
        elif given or fits:
            names = [n for b in robot.bindings for n in b.names]
            hint = listed(b.actuator for b in fits) if fits else suggestion(name, names)
            many = "several actuators" if fits else "no actuator"
            raise BindingError(
                f"{bridge.label}.motors_of: motor {index}: {many} {name!r}; {hint}", ("motors_of",)
            )
    if 3 * len(found) < sum(1 for name in wanted if name != "-"):
        raise BindingError(
            f"{bridge.label}.kind: {bridge.kind} has motors like {table.motors[0]!r}, of which "
            f"{robot.name!r} has {len(found)} of {len(table.motors)}; "
            f"{motors_hint(robot) or 'set motors_of'}",
            ("kind",),
        )
    return found
