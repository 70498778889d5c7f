"""Simulations of a fit: jobs, residuals, batch or process simulators, windows, half timesteps."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import mujoco
import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.control.setpoints import POSITION
from mjrig.core.errors import ExecutionError, FitError
from mjrig.core.processes.process_pool import ProcessPool, cores
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.scene.scene_file import Reading
from mjrig.core.sim.batch import Batch, strip
from mjrig.core.sim.world import World
from mjrig.lab.fit.fit_data import FitWindow, RecordedTrack, Tangent, cut, held_out
from mjrig.lab.fit.inertial_parameters import (
    SIZE,
    factors_of,
    mujoco_fields,
    pseudo_of,
    with_payload,
)
from mjrig.lab.fit.plant import (
    BEYOND_LAGS,
    CREEP,
    DYNAMICS,
    ENCODER,
    FEEDBACK,
    GAINS,
    INERTIAL,
    PAYLOAD,
    Drives,
    Lags,
    without_delay,
)

# Fit jobs -----------------------------------------------------------------------------------------
# Jobs: simulations requested by a fit, and their residuals against the recording.


@dataclass(frozen=True)
class Jobs:
    """Simulations of windows, N of them.

    Attributes:
        window: (N,) index of the window of each.
        values: parameter → (N, n) over the driven joints, or what else it is of.
        lags: (N, n) delays in ticks.
        moves: (N, 2 dofs) offset of the initial state from the recorded one: positions as
            tangent vectors, then velocities.
    """

    window: npt.NDArray[np.intp]
    values: Mapping[str, FloatArray]
    lags: Lags
    moves: FloatArray

    def __len__(self) -> int:
        return len(self.window)

    def part(self, rows: npt.NDArray[np.intp]) -> "Jobs":
        """A subset of the jobs."""
        values = {name: array[rows] for name, array in self.values.items()}
        return Jobs(self.window[rows], values, self.lags[rows], self.moves[rows])


class Runs(Protocol):
    """Runs jobs."""

    def run(self, jobs: Jobs) -> list[FloatArray]:
        """Simulated minus recorded states of each job, (samples, 2 dofs).

        NaN after a simulation diverged.
        """
        ...


class Simulator(Runs, Protocol):
    """Runs jobs, and holds something meanwhile."""

    def close(self) -> None:
        """Release its resources."""


@dataclass(frozen=True)
class Stage:
    """Shared data of all simulators."""

    drives: Drives
    tracks: Sequence[RecordedTrack]
    windows: Sequence[FitWindow]
    tangent: Tangent
    timestep: float
    #: Factors of the pseudo-inertia of the links, (links, 4, 4).
    factors: FloatArray

    @property
    def is_real(self) -> bool:
        """Whether a robot was recorded, whose drives know nothing of physics steps."""
        return any(self.tracks[w.track].is_real for w in self.windows)

    def start(self, jobs: Jobs) -> tuple[FloatArray, FloatArray]:
        """Initial qpos (N, nq) and qvel (N, nv) of the whole model."""
        first = [(self.windows[w].track, int(self.windows[w].samples[0])) for w in jobs.window]
        qpos = np.stack([self.tracks[t].qpos[row] for t, row in first])
        qvel = np.stack([self.tracks[t].qvel[row] for t, row in first])
        half = len(self.tangent)
        qpos = self.tangent.moved(qpos, jobs.moves[:, :half])
        qpos[:, self.drives.qpos] -= jobs.values[ENCODER]
        qvel[:, self.tangent.dofs] += jobs.moves[:, half:]
        return qpos, qvel

    def commands(self, jobs: Jobs, steps: int) -> dict[str, FloatArray]:
        """Actor → (3, N, steps, actuators): what reaches the laws in each step."""
        found: dict[str, FloatArray] = {}
        names = dict.fromkeys(name for track in self.tracks for name in track.commands)
        for name in names:
            rows = [self._delayed(jobs, i, name, steps) for i in range(len(jobs))]
            found[name] = np.stack(rows, axis=1)
        return found

    def _delayed(self, jobs: Jobs, i: int, name: str, steps: int) -> FloatArray:
        window = self.windows[jobs.window[i]]
        table = self.tracks[window.track].commands[name]
        late = np.zeros(table.shape[2])
        if name == self.drives.actor:
            asked = jobs.lags[i] * self.drives.ticks + jobs.values[BEYOND_LAGS][i]
            late[self.drives.columns] = np.maximum(asked, 0.0)
        columns = np.arange(table.shape[2])
        found = np.zeros((steps, table.shape[2], table.shape[1]))
        for lag, weight in _taps(late, self.tracks[window.track].is_real):
            rows = window.start + np.arange(steps)[:, None] - lag
            rows = np.clip(rows, window.segment, len(table) - 1)
            found += weight[:, None] * table[rows, :, columns]  # (steps, actuators, 3)
        if name == self.drives.actor:  # the drive compares setpoints with its encoder
            found[:, self.drives.columns, POSITION] -= jobs.values[ENCODER][i]
        return found.transpose(2, 0, 1)

    def residual(self, jobs: Jobs, i: int, qpos: FloatArray, qvel: FloatArray) -> FloatArray:
        """Simulated minus recorded of job i, (samples, 2 dofs).

        Arrays are (steps + 1, …) from its start.
        """
        window = int(jobs.window[i])
        here = self.windows[window]
        track = self.tracks[here.track]
        positions = self.tangent.difference(qpos[here.after], track.qpos[here.samples])
        dofs = self.tangent.dofs
        positions[:, np.searchsorted(dofs, self.drives.dofs)] += jobs.values[ENCODER][i]
        speeds = qvel[here.after][:, dofs] - track.qvel[here.samples][:, dofs]
        found = np.concatenate([positions, speeds], axis=1)
        # What has diverged is not compared: a huge number would look like a good one elsewhere.
        found[~(np.abs(found) < 1e6).all(axis=1)] = np.nan
        return found


def _taps(late: FloatArray, is_real: bool) -> list[tuple[Lags, FloatArray]]:
    """Delays of whole steps and their weights (actuators,), which together make a delay.

    A simulator's is one of whole steps, and between two neighbours only on the way of a search. A
    robot's is between them: a quadratic spline over three neighbours is smooth in the delay, so
    that a search can follow it, and delays all setpoints alike; what it takes off quick ones, far
    beyond what a joint can follow, is nothing.
    """
    if not is_real:
        before = np.floor(late).astype(np.int64)
        part = late - before
        return [(before, 1.0 - part), (before + 1, part)] if part.any() else [(before, 1.0 - part)]
    whole = np.round(late).astype(np.int64)
    part = late - whole
    return [
        (whole - 1, 0.5 * (0.5 - part) ** 2),
        (whole, 0.75 - part**2),
        (whole + 1, 0.5 * (0.5 + part) ** 2),
    ]


# Simulators ---------------------------------------------------------------------------------------
# Simulators of a fit: worlds of a batch for laws MuJoCo runs itself, else processes.


#: Numbers a call may hold at once: ctrl, qpos and qvel of all worlds and steps.
MAX_CALL_VALUES = 6e6
#: Worlds of a batch.
MOST = 512
#: The field of MjModel that the softness of a joint's friction is in proportion to.
SOFTNESS = "dof_invweight0"


class Links:
    """What jobs ask of the bodies of a robot, as fields of MjModel."""

    def __init__(self, model: Any, drives: Drives, factors: FloatArray) -> None:
        self._drives = drives
        self.ids = np.array(list(drives.links.values()), dtype=np.intp)
        self._base = factors
        names = ("body_mass", "body_ipos", "body_inertia", "body_iquat")
        self._own = {name: np.array(getattr(model, name))[self.ids] for name in names}

    def fields(self, jobs: Jobs) -> dict[str, FloatArray]:
        """Field → (N, links, …); links that no job changes are exactly the model's."""
        theta = jobs.values[INERTIAL].reshape(len(jobs), len(self.ids), SIZE)
        pseudo = pseudo_of(self._base, theta)
        changed = (theta != 0.0).any(axis=2)
        carrier, payload = self._drives.payload, jobs.values[PAYLOAD]
        if carrier >= 0:
            pseudo[:, carrier] = with_payload(pseudo[:, carrier], payload[:, 0])
            changed[:, carrier] |= payload[:, 0] != 0.0
        made = mujoco_fields(pseudo)
        for name, own in self._own.items():
            here = changed.reshape(changed.shape + (1,) * (own.ndim - 1))
            made[name] = np.where(here, made[name], own)
        return made

    def is_changed(self, jobs: Jobs) -> bool:
        """Whether any job changes a body."""
        return bool(jobs.values[INERTIAL].any()) or bool(jobs.values[PAYLOAD][:, 0].any())


def joint_fields(jobs: Jobs, timestep: float) -> dict[str, FloatArray]:
    """Field of MjModel → (N, driven joints).

    A law that sees q(t − d) and v(t − d) is a law that sees the present state, with
    less damping and other inertia: q(t − d) = q − d v + ½ d² a, v(t − d) = v − d a.
    """
    found = {field: np.array(jobs.values[name]) for name, field in DYNAMICS.items()}
    late = jobs.values[FEEDBACK] * timestep
    if late.any():
        kp, kv = (np.nan_to_num(jobs.values[name]) for name in ("kp", "kv"))
        found[DYNAMICS["damping"]] -= kp * late
        found[DYNAMICS["armature"]] += 0.5 * kp * late**2 - kv * late
    return found


class BatchSimulator:
    """Runs jobs on all cores.

    Raises:
        ExecutionError: a controller has no native form.
    """

    def __init__(self, scene: Scene, stage: Stage) -> None:
        self._scene, self._stage = scene, stage
        self._batch = self._make(1)
        self._links = Links(self._batch.model, stage.drives, stage.factors)
        #: Whether bodies, or armatures, other than the scene's have been put in.
        self._has_other_bodies = self._is_other = False

    def _make(self, count: int) -> Batch:
        batch = Batch(self._scene, count, bare=True)
        batch.expand("actuator_delay")[:] = 0.0  # the commands are delayed already
        return batch

    def close(self) -> None:
        """Nothing to release."""

    def run(self, jobs: Jobs) -> list[FloatArray]:
        """Simulated minus recorded states of each job (samples, 2 dofs)."""
        windows = self._stage.windows
        lengths = np.array([windows[w].length for w in jobs.window])
        order = np.argsort(-lengths, kind="stable")  # similar lengths run together
        found: list[FloatArray] = [np.zeros(0)] * len(jobs)
        model = self._batch.model
        width = int(model.nu + model.nq + model.nv)
        while len(order):
            steps = int(lengths[order[0]])
            size = int(np.clip(MAX_CALL_VALUES / (steps * width), 1, MOST))
            now, order = order[:size], order[size:]
            for place, result in zip(now, self._run(jobs.part(now), steps), strict=True):
                found[place] = result
        return found

    def _run(self, jobs: Jobs, steps: int) -> Sequence[FloatArray]:
        count = len(jobs)
        if self._batch.count < count:
            self._batch = self._make(count)
        batch, stage = self._batch, self._stage
        batch.reset()
        self._load(jobs)
        qpos, qvel = stage.start(jobs)
        batch.qpos[:count], batch.qvel[:count] = qpos, qvel
        rolled = batch.rollout(stage.commands(jobs, steps), count)
        positions = np.concatenate([qpos[:, None], rolled["qpos"]], axis=1)
        speeds = np.concatenate([qvel[:, None], rolled["qvel"]], axis=1)
        return [stage.residual(jobs, i, positions[i], speeds[i]) for i in range(count)]

    def _load(self, jobs: Jobs) -> None:
        """Set the parameters of its job on each world."""
        count, drives, batch = len(jobs), self._stage.drives, self._batch
        fields = joint_fields(jobs, batch.timestep)
        for field, rows in fields.items():
            batch.expand(field)[:count, drives.dofs] = rows
        self._has_other_bodies |= self._links.is_changed(jobs)
        if self._has_other_bodies:
            # Frames of bodies that coincide with their frames of inertia do so no more.
            batch.expand("body_sameframe")[:, self._links.ids] = 0
            for field, rows in self._links.fields(jobs).items():
                batch.expand(field)[:count, self._links.ids] = rows
        armature, creep = fields[DYNAMICS["armature"]], jobs.values[CREEP]
        self._is_other |= bool(
            (armature != drives.values["armature"]).any() or (creep != 1.0).any()
        )
        if self._is_other or self._has_other_bodies:
            batch.set_const()
            batch.expand(SOFTNESS)[:count, drives.dofs] *= creep
        place = {name: i for i, name in enumerate(drives.actuators)}
        for controller in batch[drives.actor].controllers:
            own = [k for k, b in enumerate(controller.bindings) if b.actuator in place]
            columns = [place[b.actuator] for b in controller.bindings if b.actuator in place]
            changed = {}
            for name in GAINS:
                rows = controller.gains[name][:count].copy()
                rows[:, own] = jobs.values[name][:, columns]
                changed[name] = rows
            controller.set_gains(worlds=slice(0, count), **changed)


class WorldSimulator:
    """Runs jobs one after the other in a single world."""

    def __init__(self, scene: Scene, stage: Stage) -> None:
        self._stage = stage
        self._world = World(scene)
        strip(self._world)
        for robot in self._world.articulations.values():
            without_delay(robot)
        self._links = Links(self._world.model, stage.drives, stage.factors)

    def close(self) -> None:
        """Nothing to release."""

    def run(self, jobs: Jobs) -> list[FloatArray]:
        """Simulated minus recorded states of each job (samples, 2 dofs)."""
        return [self._run(jobs.part(np.array([i]))) for i in range(len(jobs))]

    def _run(self, job: Jobs) -> FloatArray:
        world, stage, window = self._world, self._stage, int(job.window[0])
        self._load(job)
        world.reset()
        qpos, qvel = stage.start(job)
        data = world.data
        data.qpos[:], data.qvel[:] = qpos[0], qvel[0]
        mujoco.mj_forward(world.model, data)
        steps = stage.windows[window].length
        commands = stage.commands(job, steps)
        positions, speeds = (np.empty((steps + 1, a.shape[1])) for a in (qpos, qvel))
        positions[0], speeds[0] = qpos[0], qvel[0]
        stores = [(world[name].setpoints.values, rows[:, 0]) for name, rows in commands.items()]
        for k in range(steps):
            for values, rows in stores:
                values[:] = rows[:, k]
            world.step()
            positions[k + 1], speeds[k + 1] = data.qpos, data.qvel
        return stage.residual(job, 0, positions, speeds)

    def _load(self, job: Jobs) -> None:
        world, drives = self._world, self._stage.drives
        for field, rows in joint_fields(job, world.timestep).items():
            getattr(world.model, field)[drives.dofs] = rows[0]
        if self._links.is_changed(job):
            world.model.body_sameframe[self._links.ids] = 0
        for field, rows in self._links.fields(job).items():
            getattr(world.model, field)[self._links.ids] = rows[0]
        mujoco.mj_setConst(world.model, world.data)
        getattr(world.model, SOFTNESS)[drives.dofs] *= job.values[CREEP][0]
        robot = world[drives.actor]
        for controller in robot.controllers:
            role = controller._role
            own = [i for i, r in enumerate(drives.controllers) if r == role]
            place = {b.actuator: k for k, b in enumerate(controller.bindings)}
            for name in GAINS:
                rows = job.values[name][0][own]
                if own and not np.isnan(rows).any():
                    changed: Any = np.array(getattr(controller, name))
                    changed[[place[drives.actuators[i]] for i in own]] = rows
                    setattr(controller, name, changed)


class PoolSimulator:
    """Shares jobs among processes, each with its own world."""

    def __init__(self, scene: Scene, stage: Stage, workers: int | None = None) -> None:
        self._pool = ProcessPool(
            workers or cores(),
            _simulator,
            scene.to_text(),
            str(scene.base.resolve()),
            scene.reading,
            stage,
        )

    def close(self) -> None:
        """End the processes."""
        self._pool.kill()

    def run(self, jobs: Jobs) -> list[FloatArray]:
        """Simulated minus recorded states of each job (samples, 2 dofs)."""
        parts = [jobs.part(np.array([i])) for i in range(len(jobs))]
        return [found for share in self._pool.map(WorldSimulator.run, parts) for found in share]


def _simulator(text: str, base: str, reading: Reading, stage: Stage) -> WorldSimulator:
    """The simulator of a process."""
    scene = Scene.parse(text, base, vars=reading.vars, trust=reading.trusted)
    return WorldSimulator(scene, stage)


# Stages -------------------------------------------------------------------------------------------
# What a fit of motion simulates: windows of recordings, and who runs them.


#: Length of windows where the base is free [s]: contacts make longer ones unpredictable.
WINDOW = 0.04
#: Most numbers in the derivatives; beyond that samples are left out.
MAX_DERIVATIVE_VALUES = 1e8

Report = Callable[[str], object]


@dataclass(frozen=True)
class MotionOptions:
    """How motion is fitted.

    Attributes:
        together: include dynamic coupling between joints in the derivatives.
        window: length of the windows [s]; None: see `fit`.
        prior: standard deviation around the scene's values that is assumed, as a share; None: of
            bodies only.
        validate: share of each recording that is held out; None: nothing is.
        report: called with progress messages.
    """

    together: bool = True
    window: float | None = None
    prior: float | None = None
    validate: float | None = None
    report: Report = lambda text: None


def stages_of(
    world: World,
    drives: Drives,
    tracks: list[RecordedTrack],
    fitted: int,
    options: MotionOptions,
    skip: int,
    count: int,
) -> tuple[Stage, Stage | None]:
    """What is fitted to, and what is held out."""
    tangent = Tangent.of(world.model, world[drives.actor].model_map.joint_ids)
    window = options.window
    if window is not None and not window > 0.0:
        raise FitError(f"the length of windows must be above 0 s, got {window:g}")
    if window is None:
        window = WINDOW if tangent.turns and not drives.remembers else math.inf
    length = None if math.isinf(window) else max(round(window / world.timestep), 2)
    if length is not None and drives.remembers:
        raise FitError(
            f"{drives.actor}: its laws have internal state, unknown at the start of a window; "
            "fit whole recordings: window inf"
        )
    multiple = int(np.lcm.reduce(drives.ticks))
    windows = cut(tracks, length, multiple, skip)
    seen = [w for w in windows if w.track < fitted]
    judged = [w for w in windows if w.track >= fitted]
    if options.validate is not None and not drives.remembers:
        seen, inside = held_out(tracks[:fitted], seen, options.validate, multiple)
        judged = [*inside, *judged]
    size = sum(len(w.samples) for w in seen) * 2 * len(tangent) * (count + 2 * len(tangent))
    every = max(1, math.ceil(size / MAX_DERIVATIVE_VALUES))
    thin = [replace(w, samples=w.samples[::every], after=w.after[::every]) for w in seen]
    factors = factors_of(world.model, drives.links.values())
    stage = Stage(drives, tracks, thin, tangent, world.timestep, factors)
    return stage, replace(stage, windows=judged) if judged else None


def simulator_of(scene: Scene, stage: Stage) -> Simulator:
    """All cores if MuJoCo runs the laws itself, else processes."""
    try:
        return BatchSimulator(scene, stage)
    except ExecutionError:  # a law that runs in Python
        return PoolSimulator(scene, stage)


# Finer --------------------------------------------------------------------------------------------
# The same jobs at half the timestep: what a fit owes to the steps of its simulation.


class FinerSimulator:
    """Runs jobs of a stage at half its timestep.

    Args:
        scene: of the stage; laws that run in every step run in every half step.
        stage: what is simulated.

    Raises:
        ExecutionError: a law does not run in every step.
    """

    def __init__(self, scene: Scene, stage: Stage) -> None:
        other = Scene.parse(
            scene.to_text(), scene.base, vars=scene.reading.vars, trust=scene.reading.trusted
        )
        batch_step = stage.timestep / 2.0
        other.set("sim.timestep", batch_step)
        halved = replace(
            stage,
            tracks=[_halved(track) for track in stage.tracks],
            windows=[_halved_window(window) for window in stage.windows],
            timestep=batch_step,
        )
        if (stage.drives.ticks > 1).any():
            raise ExecutionError("a law does not run in every step")
        self._simulator = simulator_of(other, halved)

    def close(self) -> None:
        """Release its resources."""
        self._simulator.close()

    def run(self, jobs: Jobs) -> list[FloatArray]:
        """Simulated minus recorded states of each job (samples, 2 dofs)."""
        values = dict(jobs.values)
        values |= {name: 2.0 * values[name] for name in (BEYOND_LAGS, FEEDBACK)}
        return self._simulator.run(replace(jobs, values=values, lags=2 * jobs.lags))


def _halved(track: RecordedTrack) -> RecordedTrack:
    return replace(
        track,
        commands={name: np.repeat(table, 2, axis=0) for name, table in track.commands.items()},
        step=2 * track.step,
        segments=tuple(2 * s for s in track.segments),
    )


def _halved_window(window: FitWindow) -> FitWindow:
    return replace(
        window,
        segment=2 * window.segment,
        start=2 * window.start,
        length=2 * window.length,
        after=2 * window.after,
    )
