"""Simulators of a fit: worlds of a batch for laws MuJoCo runs itself, else processes."""

from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np

from mjrig.arrays import FloatArray
from mjrig.scene.load_context import Reading
from mjrig.scene_edit.scene import Scene
from mjrig.sim.batch import Batch, strip
from mjrig.sim.world import World
from mjrig.tuning.simulated.fit_jobs import Jobs, Stage
from mjrig.tuning.simulated.inertial import (
    SIZE,
    mujoco_fields,
    pseudo_of,
    with_payload,
)
from mjrig.tuning.simulated.plant import (
    CREEP,
    DYNAMICS,
    FEEDBACK,
    GAINS,
    INERTIAL,
    PAYLOAD,
    Drives,
    without_delay,
)
from mjrig.workers.pool import ProcessPool, cores

#: Numbers a call may hold at once: ctrl, qpos and qvel of all worlds and steps.
ROOM = 6e6
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
            size = int(np.clip(ROOM / (steps * width), 1, MOST))
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
