"""What is copied for one robot in every step, and how efforts are computed from it later."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.control.articulation import Articulation
from mjrig.control.policy import PolicyComponent
from mjrig.model.binding import ActuatorBinding
from mjrig.readings.applied_effort import AppliedEffort
from mjrig.readings.effort_log import EffortLog
from mjrig.readings.sampler import BindingReader
from mjrig.recording.chunk import ActorPlan, Chunk, Copy, Tick, copy_into
from mjrig.recording.h5_file import Column

_logger = logging.getLogger("mjrig")
#: Called with the row, before or after every step.
Note = Callable[[int], None]


@dataclass
class ActorWork:
    """The work of every step for one robot."""

    plan: ActorPlan
    copies: list[Copy] = field(default_factory=list)
    before: list[Note] = field(default_factory=list)
    after: list[Note] = field(default_factory=list)


class ActorNotes:
    """One robot that is recorded, and what was seen of its policy."""

    def __init__(self, index: int, robot: Articulation, policy: PolicyComponent | None) -> None:
        self.index, self.robot, self.policy = index, robot, policy
        self._ticks = -1
        self._sizes = self._policy_sizes()

    def _policy_sizes(self) -> tuple[int, ...]:
        policy = self.policy
        if policy is None:
            return ()
        return policy.observation.size, policy.action.size, policy.command_now.size

    def columns(self, rows: int) -> list[Column]:
        """The datasets of this robot."""
        at, size = f"actors/{self.robot.name}", len(self.robot.actuator_names)
        names = ("setpoint/position", "setpoint/velocity", "setpoint/feedforward")
        columns = [Column(f"{at}/{n}", size, rows=rows) for n in (*names, "effort", "raw_effort")]
        if self.policy is not None:
            columns += [
                Column(f"{at}/policy/step", None, np.int64),
                Column(f"{at}/policy/observation", self._sizes[0], np.float32),
                Column(f"{at}/policy/action", self._sizes[1], np.float32),
                Column(f"{at}/policy/command", self._sizes[2]),
            ]
        return columns

    def note_tick(self, chunk: Chunk, step: int) -> None:
        """Record observation and action of the policy, if it ticked before this step."""
        policy = self.policy
        if policy is None or policy.ticks == self._ticks:
            return
        self._ticks = policy.ticks
        if self._sizes != self._policy_sizes():  # the datasets have the sizes of the first file
            if self._sizes:
                _logger.warning(
                    "%s has another file since t=%g s, with other sizes: its ticks are not "
                    "recorded from there on", policy.label, self.robot.data.time,
                )  # fmt: skip
            self._sizes = ()
        elif self._ticks:
            chunk.ticks.append(
                Tick(
                    self.index,
                    step,
                    policy.observation.astype(np.float32).ravel(),
                    policy.action.astype(np.float32).ravel(),
                    np.array(policy.command_now, dtype=np.float64).ravel(),
                )
            )


def looks_after(robot: Articulation) -> bool:
    """Whether some efforts of a robot are only known after a step."""
    logs = (c.effort_log() for c in robot.controllers if c.enabled and c.is_bound)
    return bool(_direct(robot)) or any(log is not None and log.looks for log in logs)


def _direct(robot: Articulation) -> list[ActuatorBinding]:
    """Actuators of one output that no law can be bound to."""
    bound = {b.actuator_id for b in robot.bindings}
    return [b for b in robot.actuators if b.output_count == 1 and b.actuator_id not in bound]


def work_for(notes: ActorNotes, chunk: Chunk) -> ActorWork:
    """The present effort sources of a robot, and the work they need in every step."""
    robot, i = notes.robot, notes.index
    noted, size = chunk.noted[i], len(robot.actuator_names)
    column = {name: k for k, name in enumerate(robot.actuator_names)}
    table = [b for b in robot.bindings if b.output_count == 1]
    direct = _direct(robot)
    logs: list[tuple[EffortLog, slice]] = []
    work = ActorWork(
        ActorPlan(
            by_ctrl=np.array([column[b.actuator] for b in table], dtype=np.intp),
            reader=BindingReader(table),
            direct=np.array([column[b.actuator] for b in direct], dtype=np.intp),
            logs=logs,
        )
    )
    if size:
        work.copies.append(copy_into(chunk.setpoints[i], robot.setpoints.flat))
    used = 0
    for controller in robot.controllers:
        log = controller.effort_log() if controller.enabled and controller.is_bound else None
        if log is not None:
            where = slice(used, used + len(log.columns))
            used = where.stop
            logs.append((log, where))
            _add_log(work, log, chunk, i, where)
    if direct:
        work.after.append(_applied(robot, direct, noted[:, 1, size - len(direct) :]))
    return work


def _add_log(work: ActorWork, log: EffortLog, chunk: Chunk, actor: int, where: slice) -> None:
    noted, live = chunk.noted[actor][:, :, where], log.live
    if live is not None and live.dtype == noted.dtype:
        work.copies.append(copy_into(chunk.noted[actor], live, where.start))
    elif live is not None:
        work.before.append(lambda k: noted[k, 0].__setitem__(slice(None), live))
    if log.looks:
        work.after.append(lambda k: log.look(noted[k]))


def _applied(robot: Articulation, direct: Sequence[ActuatorBinding], place: FloatArray) -> Note:
    """What MuJoCo applied through actuators no law can be bound to."""
    applied, force = AppliedEffort(direct, robot.actuators), robot.data.actuator_force

    def look(k: int) -> None:
        place[k] = applied(force)

    return look
