"""IdleRobots: robots that MuJoCo runs alone, checked together before a step."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray, as_slice
from mjrig.control.articulation import Articulation
from mjrig.control.plan import RobotStep
from mjrig.control.setpoints import LastBytes


class IdleRobots:
    """Robots without hooks and laws in Python, next to each other in the scene.

    Two comparisons of bytes decide for all of them whether a command or a control changed: those
    of `commands()` and `controls()` with their last values. `act` then lets the changed robots act.

    Args:
        robots: in scene order, each with `is_quiet`.
        ctrl: of the world's data.
    """

    def __init__(self, robots: Sequence[Articulation], ctrl: FloatArray) -> None:
        self._robots = robots
        # Actors reserve their setpoints in scene order, so neighbours share one slice.
        first, last = robots[0].setpoints, robots[-1].setpoints
        self._values = first.bank.values[first.extent.start : last.extent.stop]
        self.commands = self._values.tobytes
        addresses = np.concatenate([_addresses(robot) for robot in robots])
        self._ctrl, self._where = ctrl, as_slice(addresses)
        self._owner_of_command = _owners([len(robot.setpoints.memory) for robot in robots])
        self._owner_of_ctrl = _owners([len(_addresses(robot)) for robot in robots])
        self.last_commands, self.last_controls = LastBytes(), LastBytes()
        for robot in robots:
            robot.setpoints.group = self.last_commands
        # NOTE: a carrier's controls come before those of the actors it carries, even if the scene
        # lists it last. The controls of neighbours are then not one slice.
        in_order = isinstance(self._where, slice)
        self.controls = ctrl[self._where].tobytes if in_order else self._gathered_controls

    @property
    def robot_step(self) -> RobotStep:
        """All of them as if they were one robot, next to other robots."""
        check = self._check_controls
        return RobotStep(self._check, self.commands, self.last_commands, self.act, (check,))

    def _gathered_controls(self) -> bytes:
        return self._ctrl[self._where].tobytes()

    def _check(self) -> None:
        if self.commands() != self.last_commands.last_bytes:
            self.act()
        self._check_controls()

    def _check_controls(self) -> None:
        if self.controls() != self.last_controls.last_bytes:
            self.act()

    def act(self) -> None:
        """Let the robots with a change act, in scene order."""
        for robot in self._changed():
            robot.control_step()
        self.last_commands.last_bytes = self.commands()
        self.last_controls.last_bytes = self.controls()

    def _changed(self) -> Sequence[Articulation]:
        last_commands, last_controls = self.last_commands.last_bytes, self.last_controls.last_bytes
        if not last_commands or not last_controls:
            return self._robots
        commands = _differing(self._values, last_commands)
        controls = _differing(self._ctrl[self._where], last_controls)
        owners = np.union1d(self._owner_of_command[commands], self._owner_of_ctrl[controls])
        return [self._robots[i] for i in owners]


def _addresses(robot: Articulation) -> npt.NDArray[np.intp]:
    ctrl = robot.model_map.ctrl
    return np.arange(ctrl.start, ctrl.stop)


def _owners(sizes: Sequence[int]) -> npt.NDArray[np.intp]:
    """The index of the robot that each value belongs to."""
    return np.repeat(np.arange(len(sizes)), sizes)


def _differing(values: FloatArray, last_bytes: bytes) -> npt.NDArray[np.intp]:
    """Indices of values with other bits: -0 and 0 differ, one NaN equals itself."""
    return np.flatnonzero(values.view(np.uint64) != np.frombuffer(last_bytes, np.uint64))
