"""Stepper: how a world advances, chosen whenever the calls between steps change."""

import logging
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, Protocol

import mujoco
import numpy as np
import numpy.typing as npt
from mujoco import mj_step

from mjrig.core.arrays import FloatArray, as_slice
from mjrig.core.control.articulation import Articulation
from mjrig.core.control.control_plan import RobotStep, Write
from mjrig.core.control.execution import is_rk4
from mjrig.core.control.finite_guard import Event, EventLog
from mjrig.core.control.setpoints import LastBytes
from mjrig.core.errors import PropertyError

# Idle robots --------------------------------------------------------------------------------------

#: The range of one step, made once.
_ONCE = range(1)


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


# Stepper ------------------------------------------------------------------------------------------


_logger = logging.getLogger("mjrig")


class Advance(Protocol):
    """Takes a number of steps; returns how many were taken."""

    def __call__(self, n: int = 1) -> int: ...


def _checked(n: int) -> int:
    """How many steps to take.

    Raises:
        PropertyError: it is no whole number, or negative.
    """
    if not isinstance(n, int | np.integer) or n < 0:
        raise PropertyError(f"step: must be a whole number of steps from 0 on, got {n!r}")
    return int(n)


class StepNotes(Protocol):
    """An observer of every physics step, such as a recorder."""

    def before_controls(self) -> None:
        """The step begins: nothing of it has happened yet."""

    def before_step(self) -> None:
        """Controls are written, the step comes next."""

    #: Whether `after_step` is wanted; read after `plan_changed`.
    looks_after: bool

    def after_step(self) -> None:
        """The step was taken."""

    def plan_changed(self) -> None:
        """The calls between steps changed."""

    def state_replaced(self, why: str) -> None:
        """The state was replaced, by a `reset` or a `restore`."""


class Stepper:
    """Advances one MjData; `advance` is the leanest function that meets all requirements.

    Args:
        start_over: resets the world after MuJoCo had to reset its data.
    """

    advance: Advance

    def __init__(
        self,
        model: Any,
        data: Any,
        robots: Sequence[Articulation],
        log: EventLog,
        start_over: Callable[[], None],
        *,
        pause_on_event: bool,
    ) -> None:
        self._model, self._data, self._robots, self._log = model, data, robots, log
        self._timestep = float(model.opt.timestep)
        #: What happens before a step, in scene order; None: to be worked out again.
        self._steps: list[RobotStep] | None = None
        self._before_stages: list[Write] = []
        self._start_over = start_over
        self._pause_on_event = pause_on_event
        self._notes: StepNotes | None = None
        self.is_paused = False
        #: Physics steps since the last reset.
        self.steps = 0
        #: The time before the first step.
        self._zero = 0.0
        #: Called with `advance` whenever it is another function.
        self.on_advance: Callable[[Advance], object] = lambda advance: None
        for robot in robots:
            robot.when_planned(self.replan)
        self.replan()

    @property
    def notes(self) -> StepNotes | None:
        """The observer of every step; steps are then taken one by one."""
        return self._notes

    @notes.setter
    def notes(self, notes: StepNotes | None) -> None:
        self._notes = notes
        self.replan()

    def adopt(self, time: float, steps: int) -> None:
        """Go on from another time and step count."""
        self._data.time = time
        self.steps, self._zero = steps, time - steps * self._timestep

    def state_replaced(self, why: str, steps: int) -> None:
        """The state was replaced: it is this many steps after a reset."""
        self.steps, self._zero = steps, float(self._data.time) - steps * self._timestep
        if self._notes is not None:
            self._notes.state_replaced(why)

    def replan(self) -> None:
        """The calls between steps changed; the next step chooses how to advance."""
        if self._notes is not None:
            self._notes.plan_changed()
        self._steps = None
        self.advance = self._choose_and_advance
        self.on_advance(self.advance)

    def _choose_and_advance(self, n: int = 1) -> int:
        self.advance = self._chosen()
        self.on_advance(self.advance)
        return self.advance(n)

    def _chosen(self) -> Advance:
        """The leanest function that meets all requirements."""
        robots, notes = self._robots, self._notes
        self._before_stages = [call for robot in robots for call in robot.before_stages]
        if notes is not None:
            self._before_stages.insert(0, notes.before_controls)
        inner: Advance
        if self._pause_on_event:
            inner = self._watching
        elif any(robot.needs_position_stage for robot in robots):
            inner = self._in_stages
        elif notes is None and all(robot.is_quiet for robot in robots) and self._acting:
            inner = self._quiet(IdleRobots(self._acting, self._data.ctrl))
        else:
            inner = self._with_python()
        if is_rk4(self._model) and any(robot.follows_stages for robot in robots):
            inner = self._following(inner)
        if notes is not None and notes.looks_after:
            return self._noted(inner)
        return inner

    def _robot_steps(self) -> list[RobotStep]:
        """What happens before a step, in scene order; idle neighbours are checked together."""
        if self._steps is not None:
            return self._steps
        self._steps = steps = []
        for is_quiet, robots in groupby(self._acting, lambda robot: robot.is_quiet):
            if is_quiet:
                steps.append(IdleRobots(tuple(robots), self._data.ctrl).robot_step)
            else:
                steps += [robot.robot_step for robot in robots]
        if self._notes is not None:
            steps.append(RobotStep.calling(self._notes.before_step))
        return steps

    @property
    def _acting(self) -> Sequence[Articulation]:
        """All but props, which never act."""
        return [robot for robot in self._robots if robot.actuators or not robot.is_quiet]

    def _unrolled(self) -> tuple[RobotStep, Sequence[Write]]:
        """The first step, whose content saves one robot a call, and the functions of the others.

        NOTE: a law may change the list of its calls between steps, so it is not copied.
        """
        steps = self._robot_steps()
        if self._notes is not None:
            steps = [RobotStep.calling(self._notes.before_controls), *steps]
        first, *others = steps or [RobotStep.calling(lambda: None)]
        return first, tuple(other.step for other in others)

    # Where MuJoCo has to reset its data, time starts over: only then is it below n + ½ steps after
    # n steps, but for the first steps after a reset. It is looked at whenever Python runs, so that
    # `step(n)` is n times `step(1)`.

    def _quiet(self, idle: IdleRobots) -> Advance:
        """MuJoCo runs everything; commands and controls are looked at before the first step."""
        model, data, timestep, act = self._model, self._data, self._timestep, idle.act
        commands, last_commands = idle.commands, idle.last_commands
        controls, last_controls = idle.controls, idle.last_controls

        def advance(n: int = 1) -> int:
            if commands() != last_commands.last_bytes or controls() != last_controls.last_bytes:
                act()
            if n == 1:
                mj_step(model, data)
            else:
                mj_step(model, data, _checked(n))
            if data.time < (n + 0.5) * timestep and self._diverged(n, 0):
                return n
            self.steps += n
            return n

        return advance

    def _with_python(self) -> Advance:
        """Python runs before each step, or when components ask for it if no law runs."""
        if self._notes is None and all(r.is_idle or r.quiet_steps for r in self._robots):
            return self._in_blocks()
        return self._step_by_step()

    def _step_by_step(self) -> Advance:
        """Python runs before each step."""
        model, data, soon = self._model, self._data, 1.5 * self._timestep
        (_, values, last, act, calls), others = self._unrolled()

        def advance(n: int = 1) -> int:
            for i in _ONCE if n == 1 else range(_checked(n)):
                if values() != last.last_bytes:
                    act()
                for call in calls:
                    call()
                if others:
                    for step in others:
                        step()
                mj_step(model, data)
                if data.time < soon and self._diverged(i + 1, n - i - 1):
                    return n
            self.steps += n
            return n

        return advance

    def _in_blocks(self) -> Advance:
        """MuJoCo runs all laws; components act now and then, and steps between run in one call."""
        model, data, timestep = self._model, self._data, self._timestep
        (_, values, last, act, calls), others = self._unrolled()
        #: Each: how many steps may follow the present one without a call.
        quiet = [ask for robot in self._robots for ask in robot.quiet_steps]

        def advance(n: int = 1) -> int:
            rest = n if n == 1 else _checked(n)
            while rest:
                if values() != last.last_bytes:
                    act()
                for call in calls:
                    call()
                if others:
                    for step in others:
                        step()
                block = min([rest, *[1 + ask() for ask in quiet]])
                mj_step(model, data, block)
                rest -= block
                if data.time < (block + 0.5) * timestep and self._diverged(n - rest, rest):
                    return n
            self.steps += n
            return n

        return advance

    def _in_stages(self, n: int = 1) -> int:
        """Steps whose laws read lengths and masses of the very state they act on."""
        for i in range(_checked(n)):
            self._once_in_stages()
            if self._data.time < 1.5 * self._timestep and self._diverged(i + 1, n - i - 1):
                return n
        self.steps += n
        return n

    def _once_in_stages(self) -> None:
        model, data = self._model, self._data
        for call in self._before_stages:
            call()
        if is_rk4(model):
            mujoco.mj_fwdPosition(model, data)
            mujoco.mj_fwdVelocity(model, data)
            for robot in self._robot_steps():
                robot.step()
            mj_step(model, data)
            return
        mujoco.mj_step1(model, data)
        for robot in self._robot_steps():
            robot.step()
        mujoco.mj_step2(model, data)

    def _watching(self, n: int = 1) -> int:
        """Steps that stop at an event."""
        for done in range(_checked(n)):
            if self.is_paused:
                return done
            before = self._log.count
            self._in_stages(1)
            self.is_paused = self._log.count > before
        return n

    def _noted(self, inner: Advance) -> Advance:
        """Steps taken one by one, with the observer called at each."""

        def advance(n: int = 1) -> int:
            for done in range(_checked(n)):
                notes = self._notes
                if not inner(1):
                    return done
                if notes is not None:
                    notes.after_step()
            return n

        return advance

    def _following(self, inner: Advance) -> Advance:
        """Steps whose trajectories are evaluated at every stage, in MuJoCo's control callback."""
        ours = self._data._address
        robots = [robot for robot in self._robots if robot.follows_stages]

        def advance(n: int = 1) -> int:
            previous = mujoco.get_mjcb_control()

            def at_every_stage(model: Any, data: Any) -> None:
                if previous is not None:
                    previous(model, data)
                if data._address == ours:
                    for robot in robots:
                        robot.follow_stage(data.time)

            mujoco.set_mjcb_control(at_every_stage)
            try:
                return inner(n)
            finally:
                mujoco.set_mjcb_control(previous)

        return advance

    # Divergence ---------------------------------------------------------------------------------

    def _diverged(self, taken: int, rest: int) -> bool:
        """Whether MuJoCo reset its data; if so, reset the world, and take the steps after that.

        Args:
            taken: steps since `steps` was counted.
            rest: steps of this call that follow.
        """
        warning = mujoco.mjtWarning
        for kind, what in (
            (warning.mjWARN_BADQACC, "acceleration"),
            (warning.mjWARN_BADQVEL, "velocity"),
            (warning.mjWARN_BADQPOS, "position"),
        ):
            record = self._data.warning[int(kind)]
            if record.number:
                # The step in which MuJoCo resets its data counts as the first one after it.
                after = round(self._data.time / self._timestep) - 1
                began = self._zero + (self.steps + taken - 1 - after) * self._timestep
                event = self._divergence(began, what, int(record.lastinfo))
                self._log.add(event)
                _logger.warning("%s", event)
                # MuJoCo reset all but the controllers: start over, alike in every execution mode.
                self._start_over()
                for _ in range(after + rest):
                    self.advance(1)
                return True
        return False

    def _divergence(self, began: float, what: str, index: int) -> Event:
        model = self._model
        address = model.jnt_qposadr if what == "position" else model.jnt_dofadr
        joint = int(np.searchsorted(address, index, side="right")) - 1
        robot = next(r for r in self._robots if joint in r.model_map.joint_ids)
        actor, name = robot.name, model.joint(joint).name.removeprefix(robot.model_map.prefix)
        text = f"{actor}.{name}: diverged: its {what} became too large; the world was reset"
        return Event(began, actor, "diverged", "", name, text)
