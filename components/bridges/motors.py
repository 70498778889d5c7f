"""Motors: the joints that a client commands, with setpoints, feedforward and gains."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.components.controllers.feedback_controllers import PDController
from mjrig.components.laws.pipeline_arrays import as_slice
from mjrig.core.arrays import FloatArray
from mjrig.core.control.articulation import Articulation
from mjrig.core.control.setpoints import FEEDFORWARD, POSITION, VELOCITY, Lease, Source
from mjrig.core.errors import BindingError
from mjrig.core.model.binding import ActuatorBinding
from mjrig.core.names import literal


class Motors:
    """Some actuators of a robot, commanded from outside; the controllers run the law.

    What is written holds at every physics step until the next command.

    Args:
        robot: whose actuators.
        bindings: which, in the client's order.
        holder: who commands, for leases and tables.
        strict: whether a PDController must drive each of them.
    """

    def __init__(
        self,
        robot: Articulation,
        bindings: Sequence[ActuatorBinding],
        holder: str,
        *,
        strict: bool = True,
    ) -> None:
        self._robot, self._holder = robot, holder
        self.bindings = tuple(bindings)
        names = robot.actuator_names
        self.columns = np.array([names.index(b.actuator) for b in bindings], dtype=np.intp)
        self.qpos = np.array([b.qpos_address for b in bindings], dtype=np.intp)
        self.dof = np.array([b.dof_address for b in bindings], dtype=np.intp)
        self._strict = strict
        self._shares: tuple[Share, ...] = ()
        #: Which of them have gains that a client can set.
        self.with_gains = np.array([], dtype=np.intp)
        self._lease: Lease | None = None
        #: Controllers with the gains that they were given, and the number of these.
        self._given: list[tuple[PDController, FloatArray, FloatArray]] = []
        self._gains_number = math.nan
        self._targets = _target_memory(robot, self.columns)

    def __len__(self) -> int:
        return len(self.bindings)

    def find_controllers(self) -> None:
        """Find the controllers of the motors; those listed after the bridge are on the robot now.

        Raises:
            BindingError: `strict`, and no PDController drives one of them.
        """
        self._shares = _shares(self._robot, self.bindings, self._holder, strict=self._strict)
        self.with_gains = np.array(sorted(i for s in self._shares for i in s[2]), dtype=np.intp)

    # Who commands -------------------------------------------------------------------------------

    @property
    def is_held(self) -> bool:
        """Whether the bridge commands them."""
        return self._lease is not None

    def take(self) -> None:
        """Take the right to command them.

        Raises:
            LeaseError: another holder has one of them.
        """
        if self._lease is None:
            own = "|".join(literal(b.actuator) for b in self.bindings)
            self._lease = self._robot.take(Source.NETWORK, actuators=own, holder=self._holder)

    def release(self) -> None:
        """Let others command them; the gains are those of the scene again."""
        self.return_gains()
        if self._lease is not None:
            self._lease.release()
            self._lease = None

    # Commands -----------------------------------------------------------------------------------

    def command(
        self,
        position: FloatArray | None = None,
        velocity: FloatArray | None = None,
        feedforward: FloatArray | None = None,
    ) -> None:
        """Write setpoints, one value per motor; None leaves a row as it is."""
        values = self._robot.setpoints.values
        rows = (POSITION, position), (VELOCITY, velocity), (FEEDFORWARD, feedforward)
        for row, given in rows:
            if given is not None:
                values[row, self.columns] = given

    def command_all(self, targets: "memoryview[float]") -> None:
        """Write positions, then velocities, then feedforward of every motor."""
        if self._targets is None:
            values = np.array(targets).reshape(3, -1)
            self._robot.setpoints.values[:, self.columns] = values
            return
        n = len(self.bindings)
        position, velocity, feedforward = self._targets
        position[:] = targets[:n]
        velocity[:] = targets[n : 2 * n]
        feedforward[:] = targets[2 * n :]

    def use_gains(self, kp: FloatArray, kv: FloatArray, number: float = math.nan) -> None:
        """Run the law with these gains.

        Args:
            number: what `runs_gains` knows them by.
        """
        for controller, own, motors in self._shares:
            new_kp, new_kv = controller.kp.copy(), controller.kv.copy()
            new_kp[own], new_kv[own] = kp[motors], kv[motors]
            controller.use_gains(new_kp, new_kv, self._holder)
        self._given = [(c, c.kp, c.kv) for c, _, _ in self._shares]
        self._gains_number = number

    def runs_gains(self, number: float) -> bool:
        """Whether these gains are in force, and no edit has put others in place meanwhile."""
        if number != self._gains_number:
            return False
        for controller, kp, kv in self._given:
            if controller.kp is not kp or controller.kv is not kv:
                return False
        return True

    def return_gains(self) -> None:
        """Run the law with the gains of the scene."""
        if self._given:
            self._given, self._gains_number = [], math.nan
            for controller, _, _ in self._shares:
                controller.return_gains()

    def gains(self) -> tuple[FloatArray, FloatArray]:
        """kp and kv in force, one value per motor."""
        kp, kv = np.zeros(len(self)), np.zeros(len(self))
        for controller, own, motors in self._shares:
            kp[motors], kv[motors] = controller.kp[own], controller.kv[own]
        return kp, kv

    def relax(self, damping: float) -> None:
        """No position term and no feedforward: the motors only damp."""
        own, values = self.with_gains, self._robot.setpoints.values
        values[POSITION, self.columns[own]] = self._robot.data.qpos[self.qpos[own]]
        values[VELOCITY:, self.columns[own]] = 0.0
        self.use_gains(np.zeros(len(self)), np.full(len(self), damping))

    # State --------------------------------------------------------------------------------------

    def position(self) -> FloatArray:
        """Positions of the joints."""
        found: FloatArray = self._robot.data.qpos[self.qpos]
        return found

    def velocity(self) -> FloatArray:
        """Velocities of the joints."""
        found: FloatArray = self._robot.data.qvel[self.dof]
        return found


def motors_hint(robot: Articulation) -> str:
    """How a robot whose joints have position actuators gets motors; empty if it has none."""
    servos = [b.actuator for b in robot.bindings.unbound if b.kind == "position" and b.on_joint]
    if not servos:
        return ""
    return (
        f"{len(servos)} of its joints have position actuators, such as {servos[0]!r}: set "
        "use_motors: true on the actor, which makes motors of them"
    )


def _target_memory(robot: Articulation, columns: npt.NDArray[np.intp]) -> list[Any] | None:
    """The memory of the rows of setpoints, where the motors are a part of them in order."""
    part = as_slice(columns.tolist())
    if part is None:
        return None
    return [robot.setpoints.values[row, part].data for row in (POSITION, VELOCITY, FEEDFORWARD)]


Share = tuple[PDController, npt.NDArray[np.intp], npt.NDArray[np.intp]]


def _shares(
    robot: Articulation, bindings: Sequence[ActuatorBinding], holder: str, *, strict: bool
) -> tuple[Share, ...]:
    """Each controller with its own indices and those of the motors."""
    found: list[Share] = []
    left = {b.actuator: i for i, b in enumerate(bindings)}
    for controller in robot.controllers:
        if not isinstance(controller, PDController) or controller.law is not None:
            continue
        own = [(k, left.pop(b.actuator)) for k, b in enumerate(controller.bindings)
               if b.actuator in left]  # fmt: skip
        if own:
            pairs = np.array(own, dtype=np.intp)
            found.append((controller, pairs[:, 0], pairs[:, 1]))
    if left and strict:
        raise BindingError(
            f"{holder}: {next(iter(left))!r} has no PDController or PIDController whose gains a "
            "client could set; add one that owns it"
        )
    return tuple(found)
