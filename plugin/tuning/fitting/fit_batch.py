"""Simulations of a fit as worlds of a batch, for laws MuJoCo runs itself."""

from collections.abc import Sequence

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.scene_edit.scene import Scene
from mjrig.sim.batch import Batch
from mjrig.tuning.fitting.fit_jobs import Jobs, Stage
from mjrig.tuning.fitting.plant import DYNAMICS, GAINS, MASS, link_factors

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
