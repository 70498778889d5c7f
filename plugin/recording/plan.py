"""Which numbers of one robot are copied in every step, and what becomes efforts later."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mjrig.articulation import Articulation
from mjrig.policy import PolicyComponent
from mjrig.recording.chunk import ActorPlan, Chunk, Tick
from mjrig.recording.efforts import EffortLog
from mjrig.recording.h5_file import Column

#: Before every step `target[k] = source`.
Copy = tuple[Any, Any]
Look = Callable[[int], None]


class ActorNotes:
    """One robot that is recorded, and what was seen of its policy."""

    def __init__(self, index: int, robot: Articulation, policy: PolicyComponent | None) -> None:
        self.index, self.robot, self.policy = index, robot, policy
        self._ticks = -1

    def columns(self) -> list[Column]:
        """The datasets of this robot."""
        at, size = f"actors/{self.robot.name}", len(self.robot.actuator_names)
        names = ("setpoint/position", "setpoint/velocity", "setpoint/feedforward")
        columns = [Column(f"{at}/{n}", size) for n in (*names, "effort", "raw_effort")]
        if self.policy is not None:
            columns += [
                Column(f"{at}/policy/step", None, np.int64),
                Column(f"{at}/policy/observation", self.policy.observation.size, np.float32),
                Column(f"{at}/policy/action", self.policy.action.size, np.float32),
                Column(f"{at}/policy/command", self.policy.command_now.size),
            ]
        return columns

    def note_tick(self, chunk: Chunk, step: int) -> None:
        """Take down what the policy saw and gave, if it ticked before this step."""
        policy = self.policy
        if policy is None or policy.ticks == self._ticks:
            return
        self._ticks = policy.ticks
        if self._ticks:
            chunk.ticks.append(
                Tick(
                    self.index,
                    step,
                    policy.observation.astype(np.float32).ravel(),
                    policy.action.astype(np.float32).ravel(),
                    np.array(policy.command_now, dtype=np.float64).ravel(),
                )
            )


def plan_of(notes: ActorNotes, chunk: Chunk, data: Any) -> tuple[ActorPlan, list[Copy], list[Look]]:
    """Where a robot's efforts come from now, what to copy before and look at after every step."""
    robot, noted = notes.robot, chunk.noted[notes.index]
    copies: list[Copy] = []
    looks: list[Look] = []
    if robot.actuator_names:
        copies.append((robot.setpoints.flat, chunk.setpoints[notes.index]))
    logs: list[tuple[EffortLog, slice]] = []
    used = 0
    for controller in robot.controllers:
        log = controller.effort_log() if controller.enabled and controller.is_bound else None
        if log is None:
            continue
        where = slice(used, used + len(log.columns))
        used = where.stop
        logs.append((log, where))
        if log.live is not None:
            copies.append((log.live, noted[:, 0, where]))
        if log.looks:
            looks.append(_look(log, noted[:, :, where]))
    column = {name: i for i, name in enumerate(robot.actuator_names)}
    bound = {b.actuator for b in robot.bindings} & column.keys()
    direct = [b for b in robot.actuators if b.actuator in column and b.actuator not in bound]
    if direct:
        outputs = np.array([b.output_address for b in direct], dtype=np.intp)
        gears = np.array([b.gear for b in direct])
        place = noted[:, 1, noted.shape[2] - len(direct) :]
        looks.append(_applied(data, outputs, gears, place))
    table = [b for b in robot.bindings if b.actuator in bound]
    plan = ActorPlan(
        by_ctrl=np.array([column[b.actuator] for b in table], dtype=np.intp),
        addresses=np.array([b.ctrl_address for b in table], dtype=np.intp),
        factor=np.array([b.factor for b in table]),
        direct=np.array([column[b.actuator] for b in direct], dtype=np.intp),
        logs=tuple(logs),
    )
    return plan, copies, looks


def _look(log: EffortLog, noted: Any) -> Look:
    return lambda k: log.look(noted[k])


def _applied(data: Any, outputs: Any, gears: Any, place: Any) -> Look:
    """What MuJoCo applied through actuators no law can be bound to."""

    def look(k: int) -> None:
        np.multiply(gears, data.actuator_force[outputs], out=place[k])

    return look
