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
from mjrig.tuning.fitting.fit_jobs import Jobs, Stage
from mjrig.tuning.fitting.plant import DYNAMICS, GAINS, MASS, link_factors, without_delay
from mjrig.workers.pool import ProcessPool, cores

#: Numbers a call may hold at once: ctrl, qpos and qvel of all worlds and steps.
ROOM = 2.5e7
#: Worlds of a batch.
MOST = 512


class BatchSimulator:
    """Runs jobs on all cores.

    Raises:
        ExecutionError: a controller has no native form.
    """

    def __init__(self, scene: Scene, stage: Stage) -> None:
        self._scene, self._stage = scene, stage
        self._batch = self._make(1)
        #: Whether links of other masses than the scene's have been put in.
        self._is_heavier = False

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
        return [stage.residual(int(w), positions[i], speeds[i]) for i, w in enumerate(jobs.window)]

    def _load(self, jobs: Jobs) -> None:
        """Set the parameters of its job on each world."""
        count, drives, batch = len(jobs), self._stage.drives, self._batch
        for name, field in DYNAMICS.items():
            batch.expand(field)[:count, drives.dofs] = jobs.values[name]
        factors = link_factors(drives.bodies, jobs.values[MASS])
        heavier = bool((factors != 1.0).any())
        if heavier or self._is_heavier:
            model, links = batch.model, drives.bodies
            batch.expand("body_mass")[:count, links] = model.body_mass[links] * factors
            inertia = model.body_inertia[links] * factors[..., None]
            batch.expand("body_inertia")[:count, links] = inertia
        if (
            heavier
            or self._is_heavier
            or np.ptp(jobs.values["armature"], axis=0).any()
            or (jobs.values["armature"] != drives.values["armature"]).any()
        ):
            batch.set_const()
        self._is_heavier |= heavier
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
        links = stage.drives.bodies
        self._mass = self._world.model.body_mass[links].copy()
        self._inertia = self._world.model.body_inertia[links].copy()

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
        return stage.residual(window, positions, speeds)

    def _load(self, job: Jobs) -> None:
        world, drives = self._world, self._stage.drives
        for name, field in DYNAMICS.items():
            getattr(world.model, field)[drives.dofs] = job.values[name][0]
        factors = link_factors(drives.bodies, job.values[MASS][0])
        world.model.body_mass[drives.bodies] = self._mass * factors
        world.model.body_inertia[drives.bodies] = self._inertia * factors[:, None]
        mujoco.mj_setConst(world.model, world.data)
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
