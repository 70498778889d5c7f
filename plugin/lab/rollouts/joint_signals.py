"""JointSignals: joints of suspended robots driven by a signal, one at a time or in a batch."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from types import SimpleNamespace
from typing import Any, ClassVar

import mujoco
import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.control.controller import ArticulationController
from mjrig.core.control.efforts import AppliedEffort
from mjrig.core.sim.batch import Batch
from mjrig.core.sim.world import World
from mjrig.lab.rollouts.actuator_selection import Chosen, choose_law
from mjrig.lab.rollouts.experiment import PlainScenario, Variation
from mjrig.lab.rollouts.hosts import BatchHost, Host, effort_fields
from mjrig.lab.rollouts.joint_bench import Bench, Response, Rest, failed, respond
from mjrig.lab.rollouts.randomisation import Randomisation
from mjrig.lab.rollouts.signals import (
    BoolArray,
    Metrics,
    Signal,
    Trace,
    follow,
    signal_steps,
)

#: State variables of a world; the rest follows from them.
STATE = ("time", "qpos", "qvel", "act", "history", "qacc_warmstart", "ctrl", "eq_active",
         "mocap_pos", "mocap_quat", "userdata", "plugin_state")  # fmt: skip
#: Steps between two reports.
EVERY = 100


def is_plain(world: World) -> bool:
    """Whether MuJoCo runs every law, and the efforts follow from state and target alone: PD."""
    robots = world.articulations.values()
    joints = [b.joint_id for robot in robots for b in robot.bindings]
    alone = len(set(joints)) == len(joints)  # a limit of the joint is shared otherwise
    laws = [c for r in robots for c in r.controllers if c.follows_pose and c.enabled]
    return alone and all(map(_is_plain_law, laws))


def _is_plain_law(controller: ArticulationController) -> bool:
    if controller.lowered is None or getattr(controller, "clamp_targets", False):
        return False
    form = controller.native_form()
    more = form.ki is not None or form.lags is not None or form.dc is not None
    return not more and all(b.on_joint for b in controller.bindings)


@dataclass(frozen=True)
class JointCase:
    """One actuator, and the signal it is driven by."""

    actor: str
    actuator: str
    signal: Signal


class SuspendedRobots:
    """A bench with the states of rest that runs on it begin with."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self._rests: dict[Signal, Rest] = {}

    def rest(self, signal: Signal) -> Rest:
        """The state in which the robots are still enough for a signal."""
        if signal not in self._rests:
            self._rests[signal] = self.bench.rest(signal)
        return self._rests[signal]


@dataclass(frozen=True)
class JointSignals(PlainScenario):
    """An actuator of suspended robots is driven by a signal; the case of a variation has both.

    The trace is a `Response`. The signals differ in amplitude only. In a batch, where the world
    must be plain, every world drives its own joint.

    Attributes:
        strictest: the signal that the robots must be stillest for.
    """

    case_type: ClassVar[Any] = JointCase
    batchable = True
    metrics = tuple(f.name for f in fields(Metrics))
    strictest: Signal

    @property
    def duration(self) -> float:
        """Simulated time, at least [s]."""
        return self.strictest.duration

    def prepare(self, world: World) -> SuspendedRobots:
        """Suspend the robots of a world."""
        return SuspendedRobots(Bench(world))

    def run(
        self, host: Host, randomisation: Randomisation, variations: Sequence[Variation]
    ) -> list[dict[str, float]]:
        """The metrics of each joint."""
        del randomisation
        assert isinstance(host.prepared, SuspendedRobots)
        bench, rest = host.prepared.bench, host.prepared.rest(self.strictest)
        cases = [v.case for v in variations if isinstance(v.case, JointCase)]
        if isinstance(host, BatchHost):
            responses = _follow_together(bench, rest, host, cases)
        else:
            responses = [_follow_alone(bench, rest, case) for case in cases]
        host.traces[:] = responses
        host.problems[:] = [response.problem for response in responses]
        return [_numbers(response.metrics) for response in responses]


def _numbers(metrics: Metrics | None) -> dict[str, float]:
    """The metrics that have a value."""
    return {} if metrics is None else {n: v for n, v in asdict(metrics).items() if v is not None}


def _follow_alone(bench: Bench, rest: Rest, case: JointCase) -> Response:
    (response,) = bench.run(case.actor, [case.actuator], case.signal, rest=rest)
    return response


def _follow_together(
    bench: Bench, rest: Rest, host: BatchHost, cases: Sequence[JointCase]
) -> list[Response]:
    """One response per case; one that diverges is run again on the bench, which has the cause."""
    world = bench.world
    if not rest.problem:
        world.restore(rest.state)
    chosen = [choose_law(world[case.actor], case.actuator) for case in cases]
    if rest.problem:
        return [failed(c.binding, rest.problem) for c in chosen]
    run = _Run(host.batch, chosen, [case.signal for case in cases])
    traces = run.traces(host.report)
    responses = []
    for i, (one, trace, case) in enumerate(zip(chosen, traces, cases, strict=True)):
        if trace is None or rest.why_not(one.binding):
            responses.append(_follow_alone(bench, rest, case))
            continue
        run.show(i)
        responses.append(respond(world, one.robot, one.binding, trace, case.signal))
    world.restore(rest.state)
    return responses


class _Run:
    """The copies, their setpoints and their signals."""

    def __init__(self, batch: Batch, chosen: Sequence[Chosen], signals: Sequence[Signal]) -> None:
        self._batch, self._chosen, self._signals = batch, chosen, signals
        self._world = world = batch.template
        for field in STATE:
            rows = batch.data(field)
            if rows[0].size:
                rows[:] = np.asarray(getattr(world.data, field))
        self._robots = list(batch.robots.values())
        for name, robot in batch.robots.items():
            robot.setpoints[:] = world[name].setpoints.values[:, None, :]
        self._columns = np.array(
            [c.robot.actuator_names.index(c.binding.actuator) for c in chosen], dtype=np.intp
        )
        #: State at the end of each copy's response; others are followed for longer.
        self._ends: list[dict[str, FloatArray]] = [{} for _ in chosen]
        self._applied = [AppliedEffort([c.binding], c.robot.actuators) for c in chosen]

    def traces(self, report: Callable[[float], object]) -> list[Trace | None]:
        """The trace of each copy, until it is over; None: it diverged."""
        h = self._world.timestep
        read = [self._reader("qpos", "qpos_address"), self._reader("qvel", "dof_address")]
        read_terms, places = self._term_reader()
        move, asked = self._mover(), signal_steps(self._signals[0], h)[0]
        time = self._batch.data("time")
        began = float(np.ravel(time[0])[0])
        log: list[FloatArray] = []
        terms: list[FloatArray] = []

        def advance(step: int, offsets: FloatArray) -> BoolArray:
            log.append(np.array([move(offsets), read[0](), read[1]()]))
            self._batch.step()
            terms.append(read_terms())
            if step % EVERY == 0:
                report(min(step / asked, 1.0))
            # MuJoCo resets the time to 0 where a state became non-finite.
            alive: BoolArray = np.abs(np.ravel(time) - began - (step + 1) * h) < h / 2.0
            return alive

        length = follow(self._signals, h, lambda: read[0]()[:, None], advance, ended=self._end)
        table = np.concatenate([log, [np.array([read[0]()] * 3)]])
        history = np.array(terms)
        return [
            self._trace(i, table[: n + 1, :, i].T, history[:n, places[i]]) if n else None
            for i, n in enumerate(length)
        ]

    def _end(self, copies: BoolArray) -> None:
        """Keep the states of responses that are complete now."""
        for i in np.flatnonzero(copies):
            rows = {field: self._batch.data(field)[i] for field in STATE}
            self._ends[i] = {field: np.array(row) for field, row in rows.items()}

    def _reader(self, field: str, address: str) -> Callable[[], FloatArray]:
        """Reads one number per copy: that of its joint."""
        values = self._batch.data(field)
        where = np.array([getattr(c.binding, address) for c in self._chosen], dtype=np.intp)
        every = np.arange(len(where))
        return lambda: values[every, where]

    def _term_reader(self) -> tuple[Callable[[], FloatArray], list[npt.NDArray[np.intp]]]:
        """Reads the terms of all copies' efforts, and where those of each copy are."""
        values = self._batch.data("actuator_force")
        counts = [len(applied.outputs) for applied in self._applied]
        where = np.concatenate([applied.outputs for applied in self._applied])
        copies = np.repeat(np.arange(len(counts)), counts)
        sums = [self._sum_reader(i) for i, a in enumerate(self._applied) if len(a.dofs)]
        sizes = [len(applied.dofs) for applied in self._applied]
        owner = np.concatenate([copies, np.repeat(np.arange(len(sizes)), sizes)])
        places = [np.flatnonzero(owner == i) for i in range(len(counts))]
        return lambda: np.concatenate([values[copies, where], *(read() for read in sums)]), places

    def _sum_reader(self, i: int) -> Callable[[], FloatArray]:
        """Reads the sums that the effort of one copy needs."""
        fields = vars(effort_fields(self._batch, self._applied[i]))
        row = SimpleNamespace(**{name: values[i] for name, values in fields.items()})
        return lambda: self._applied[i].sums(row)

    def _mover(self) -> Callable[[FloatArray], FloatArray]:
        """A function that offsets the targets of the copies and returns the targets."""
        base = np.empty(len(self._chosen))
        parts = []
        for robot in self._robots:
            own = np.array([i for i, c in enumerate(self._chosen) if c.robot.name == robot.name])
            if len(own):
                base[own] = robot.position[own, self._columns[own]]
                parts.append((robot.position, own, self._columns[own]))

        def move(offsets: FloatArray) -> FloatArray:
            target = base + offsets
            for position, own, columns in parts:
                position[own, columns] = target[own]
            return target

        return move

    def _trace(self, i: int, log: FloatArray, terms: FloatArray) -> Trace:
        one, h = self._chosen[i], self._world.timestep
        position, velocity = log[1], log[2, :-1]
        target = log[0, :-1]
        form, g = one.controller.native_form(), one.binding.factor
        kp, kv = form.kp[one.index] * g * g, form.kv[one.index] * g * g
        _, held_velocity, feedforward = one.robot.setpoints.values[:, self._columns[i]]
        raw = feedforward + kp * (target - position[:-1]) + kv * (held_velocity - velocity)
        effort = g * np.clip(raw / g, form.low[one.index], form.high[one.index])
        applied = self._applied[i].of(terms)[:, 0]
        time = h * np.arange(1.0, len(target) + 1.0)
        return Trace(time, target, position[1:], effort, raw, applied, float(position[0]))

    def show(self, i: int) -> None:
        """Put the bench's world into the state at the end of a copy's response, for the loads."""
        data = self._world.data
        for field in STATE:
            values = self._ends[i][field]
            if field == "time":
                data.time = float(np.ravel(values)[0])
            elif np.size(values):
                getattr(data, field)[:] = values
        mujoco.mj_forward(self._world.model, data)
