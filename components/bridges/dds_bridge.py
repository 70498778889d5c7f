"""DdsBridge: base class of the bridges that speak DDS, in a process of their own.

Right after a step the caches are full of physics, and numpy's own code costs ten times what it
does in a loop: the thread that steps only copies memory (`RawState`).
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from importlib.util import find_spec
from typing import Any

import mujoco
import numpy as np

from mjrig.components.bridges.bridge import Bridge, ServedWorld
from mjrig.components.bridges.dds.exchange import REJECTED, Wire
from mjrig.components.bridges.dds.link import DdsLink, LocalLink
from mjrig.components.bridges.dds.loopback import LOOPBACK
from mjrig.components.bridges.dds.robot_state import BaseLayout, Index, RobotState
from mjrig.components.bridges.motors import Motors
from mjrig.components.bridges.traffic import rejection
from mjrig.core.arrays import FloatArray
from mjrig.core.control.actor_in_world import base_address
from mjrig.core.control.articulation import Articulation
from mjrig.core.control.efforts import AppliedEffort
from mjrig.core.errors import BindingError, MissingExtraError
from mjrig.core.findings import Finding, note, warning
from mjrig.core.properties.hooks import required
from mjrig.core.properties.scalar_kinds import Choice, Float, Int, Text
from mjrig.core.sim.world import World

# Raw state ----------------------------------------------------------------------------------------
# RawState: the numbers of a robot that bridges send, copied as MuJoCo keeps them.
#
# Right after a step the caches are full of physics, and numpy's own code costs ten times what it
# does in a loop: the thread that steps only copies memory.


class RawState:
    """Copies time, joints, forces and base of a robot into a frame.

    Args:
        motors: whose joints are read.
        site: local name of the site of the inertial sensor; where there is none, the base itself.
        extra: numbers at the end of a frame for what the bridge has to add.

    `reader` tells the other process what is where.
    """

    def __init__(self, robot: Articulation, motors: Motors, site: str, extra: int = 0) -> None:
        data, base = robot.data, base_address(robot)
        joint = _base_joint(robot, base)
        effort = AppliedEffort(motors.bindings, robot.actuators)
        self._data = data
        self._parts: list[tuple[FloatArray, int, int]] = []
        self._size = 1
        first = 0 if joint is None else int(robot.model.jnt_dofadr[joint])
        dof = [] if joint is None else range(first, first + 6)
        at = [] if base is None else range(base, base + 7)
        q = self._part(data.qpos, [*motors.qpos, *at])
        dq = self._part(data.qvel, [*motors.dof, *dof])
        ddq = self._part(data.qacc, [*motors.dof, *dof])
        forces = self._part(data.actuator_force, effort.outputs)
        # Filled before it is copied, if the efforts need it.
        self._sums = np.zeros(len(effort.dofs))
        self._summed = [effort.sums] if len(effort.dofs) else []
        sums = self._part(self._sums, range(len(self._sums)))
        terms = np.concatenate([forces, sums])
        n = len(motors)
        layout = None
        if joint is not None:
            found = _accelerometer(robot)
            layout = BaseLayout(
                int(q[n]),
                int(dq[n]),
                int(ddq[n]),
                None if found is None else int(self._part(data.sensordata, found)[0]),
                _turn(robot, joint, site),
                np.array(robot.model.opt.gravity),
            )
        gravity = np.array(robot.model.opt.gravity)
        size = self._size + extra
        self.reader = RobotState(size, q[:n], dq[:n], ddq[:n], terms, effort, layout, gravity)
        self.frame = np.zeros(size)
        self.extra = self.frame[size - extra :]
        self._out: Any = self.frame.data
        self._copies = [(self._out[a:b], source.data) for source, a, b in self._parts]

    def _part(self, array: Any, addresses: Sequence[int] | Index) -> Index:
        """Have a range of an array copied; where its entries are in a frame."""
        index = np.array(addresses, dtype=np.intp)
        if not len(index):
            return index
        low, high, at = int(index.min()), int(index.max()) + 1, self._size
        self._parts.append((array[low:high], at, at + high - low))
        self._size += high - low
        found: Index = index - low + at
        return found

    def read(self) -> "memoryview[float]":
        """The frame, filled."""
        out: memoryview[float] = self._out
        out[0] = self._data.time
        for read in self._summed:
            self._sums[:] = read(self._data)
        for part, source in self._copies:
            part[:] = source
        return out


def _base_joint(robot: Articulation, base: int | None) -> int | None:
    """The free joint of a robot's base."""
    if base is None:
        return None
    return int(np.flatnonzero(robot.model.jnt_qposadr == base)[0])


def _turn(robot: Articulation, joint: int, site: str) -> FloatArray:
    """Orientation of a site of the base, w x y z; none where there is no such site."""
    model, prefix = robot.model, robot.model_map.prefix
    found = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE, prefix + site)
    if found >= 0 and model.site_bodyid[found] == model.jnt_bodyid[joint]:
        return np.array(model.site_quat[found])
    return np.array([1.0, 0.0, 0.0, 0.0])


def _accelerometer(robot: Articulation) -> list[int] | None:
    """Where the readings of the robot's first accelerometer are."""
    model, prefix = robot.model, robot.model_map.prefix
    kind = int(mujoco.mjtSensor.mjSENS_ACCELEROMETER)
    for i in np.flatnonzero(model.sensor_type == kind):
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_SENSOR, int(i)) or ""
        if name.startswith(prefix):
            first = int(model.sensor_adr[i])
            return [first, first + 1, first + 2]
    return None


# Dds bridge ---------------------------------------------------------------------------------------


#: Texts that are taken before one step; more wait for the next.
_MOST_TEXTS = 16


class SenderClock(StrEnum):
    """How the clocks of senders relate to the one of this machine."""

    ESTIMATED = "estimated"
    SHARED = "shared"


class DdsBridge(Bridge):
    """Publishes states and takes commands over DDS.

    DDS runs in a process of its own: it is started again where it ends, and the world goes on.
    """

    domain = Int(0, min=0, max=232, category="DDS", doc="DDS domain.")
    interface = Text(
        "lo",
        category="DDS",
        doc="Network interface, by name or address; the default is this machine only.",
    )
    max_age = Float(
        0.5,
        min=0.0,
        unit="s",
        category="Safety",
        doc="Oldest command that is used, by its sender's clock; inf: any.",
    )
    clock = Choice(
        SenderClock.ESTIMATED,
        category="Safety",
        doc="Senders' clocks for max_age: estimated corrects a constant offset of each, shared "
        "means that they have the time of this machine.",
    )
    imu = Text("imu", doc="Site of the inertial sensor; the base where there is none.")

    #: Which messages it speaks.
    wire = ""
    #: Numbers that it adds to the state of the robot.
    extra = 0
    #: What keeps it apart from another one, for people.
    apart = "another domain"

    def prepare(self) -> None:
        super().prepare()
        self._link: DdsLink | LocalLink | None = None
        self._raw: RawState | None = None
        self._adds = False

    def attach(self, articulation: Any) -> None:
        super().attach(articulation)
        self._raw = RawState(articulation, self.motors, self.imu, self.extra)

    def settings(self) -> Mapping[str, Any]:
        """Hook: what its wire needs to know besides, plain data and arrays."""
        return {}

    def all_settings(self) -> dict[str, Any]:
        """What the process needs to know."""
        return {
            "wire": self.wire,
            "domain": self.domain,
            "interface": self.interface,
            "max_age": self.max_age,
            "shared_clock": self.clock is SenderClock.SHARED,
            "reader": self.raw.reader,
            **self.settings(),
        }

    def start(self, stage: ServedWorld) -> None:
        if self._link is None:  # else a test has put one there
            if find_spec("cyclonedds") is None:
                raise MissingExtraError(self.label, "bridge", "cyclonedds is not installed")
            self._check_alone(stage.world)
            self._link = DdsLink(self.all_settings(), self.label, self.make_wire())

    def _check_alone(self, world: World) -> None:
        """One topic cannot command two robots.

        Raises:
            BindingError: another bridge takes the same commands.
        """
        topics = self.make_wire().subscriptions
        for other in (c for r in world.articulations.values() for c in r.components):
            if not isinstance(other, DdsBridge) or not other.is_open or other is self:
                continue
            theirs = other.make_wire().subscriptions
            both = [topic for topic in topics if topic in theirs]
            if both and other.address == self.address:
                raise BindingError(
                    f"{self.label}: {other.label} takes {both[0]} in {self.address} already, and "
                    f"a program could not tell them apart; give one {self.apart}"
                )

    def use_link(self, link: LocalLink) -> None:
        """Talk to a client in this process instead of DDS, from the next `open` on."""
        self._link = link

    def stop(self) -> None:
        if self._link is not None:
            self._link.close()
        self._link = None

    @property
    def address(self) -> str:
        return f"DDS domain {self.domain} on {self.interface}"

    def network_remark(self) -> Finding | None:
        if self.interface in LOOPBACK:
            return None
        return warning("open-network", "", form="open-network dds", here=self.interface)

    @property
    def link(self) -> DdsLink | LocalLink | None:
        """The process, while it is open."""
        return self._link

    def send(self) -> None:
        link, raw = self._link, self._raw
        if link is None or raw is None:
            return
        if self._adds:
            self.add(raw.extra)
        link.send(raw.read())
        self._traffic.sent += 1

    def before_controls(self, time: float) -> None:
        # As the base class has it, without a call more: it runs at every step.
        link = self._link
        if link is None:
            return
        if link.has_commands() or link.texts:
            self._take_commands(link, time)
            self._take_texts(link)
        if time > self._deadline:
            self._lose()

    def _take_commands(self, link: DdsLink | LocalLink, time: float) -> None:
        """Use what came in since the last step, all of it: each may be about other joints."""
        for command in link.commands():
            if not self.take_over():
                return
            try:
                self.use(command)
            except Exception as error:  # sent by somebody else: it must not stop the world
                self.reject(rejection(error))
                continue
            self.commanded(time, command[0])

    def _take_texts(self, link: DdsLink | LocalLink) -> None:
        for _ in range(min(len(link.texts), _MOST_TEXTS)):
            frame = link.text()
            text = frame[1:].decode(errors="replace")
            if frame[:1] == REJECTED:
                self.reject(warning("rejected", "", reason=text))
            elif text:  # a process that was started again says without words that it listens
                self.notify(note("connection", "", reason=text))

    @required()
    def make_wire(self) -> Wire:
        """Hook: its messages, without DDS."""
        raise NotImplementedError

    @property
    def raw(self) -> RawState:
        """The numbers that it hands over."""
        assert self._raw is not None, "it is on no actor of a world"
        return self._raw

    def add(self, extra: FloatArray) -> None:
        """Hook: fill in what it adds to a state; called while `_adds` is true."""

    def use(self, command: "memoryview[float]") -> None:
        """Hook: use a valid command; the first number is its arrival."""
