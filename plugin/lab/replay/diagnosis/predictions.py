"""Short predictions from recorded states: the physics and the law, without chaos.

From some recorded states the world runs to the next recorded sample with the recorded setpoints.
What it misses there is smooth in every parameter, so that a parameter can be fitted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.sim.world import World
from mjrig.data.recording.recording import Recording
from mjrig.lab.replay.matching import Indices, Match
from mjrig.lab.replay.players import TargetsPlayer, playable_steps
from mjrig.lab.rollouts.tracks import advance

#: Predictions per evaluation at most and at least, and physics steps for all of them together.
MOST, LEAST, STEPS = 60, 24, 600
#: How long a prediction is at most; of samples at physics rate, how many steps [s].
LONGEST, SPAN = 0.06, 12
#: A prediction that misses by less is right: solvers stop somewhere [rad/s or m/s].
EXACT = 1e-5
#: Steps of Newton's method towards the best value of a parameter.
ROUNDS = 4
#: Solvers with fewer iterations depend on where they start: a prediction begins one earlier, and
#: only those are used that depend on it least.
FEW = 10


@dataclass(frozen=True)
class ParameterFit:
    """The change of a parameter that fits best, and the misses before and with it."""

    change: float
    before: float
    after: float

    @property
    def share(self) -> float:
        """The part of the miss it removes."""
        return 1.0 - self.after / self.before if self.before > 0.0 else 0.0


class Segments:
    """Predictions of one robot; `miss` gives velocity errors at the end of each, (count, dofs)."""

    def __init__(self, recording: Recording, world: World, robot: str) -> None:
        self._recording, self._world, self._robot = recording, world, robot
        with TargetsPlayer(recording, world, robot=robot, resample=True) as player:
            self._pair, self._ratio = player.matches[0], player.ratio
            self._single = len(player.matches) == 1
        # Solvers with few iterations depend on where they start, and a recording does not say that.
        self._few = world.model.opt.iterations < FEW
        self._rows = self._choose()
        if self._few and self.usable:
            self._rows = self._settled()

    @property
    def usable(self) -> bool:
        """Whether there are enough states with velocities, at the timestep of this world."""
        return self._single and self._ratio == 1.0 and len(self._rows) >= 8

    @property
    def pair(self) -> Match:
        """The robot."""
        return self._pair

    def _choose(self) -> Indices:
        """Pairs of rows (from, to), spread over the recording."""
        recorded = self._pair.recorded
        if recorded.qvel is None:
            return np.zeros((0, 2), dtype=np.intp)
        steps = recorded.step - recorded.step[0]
        every = int(np.median(np.diff(steps))) if len(steps) > 1 else 0
        longest = max(1, round(LONGEST / self._recording.timestep))
        span = every if every > 1 else min(SPAN, longest)
        last = np.searchsorted(steps, playable_steps(self._recording), side="right")
        rows = np.arange(len(steps))
        ends = np.searchsorted(steps, steps + span, side="right") - 1
        good = np.flatnonzero((ends > rows) & (ends < last) & (span <= longest))
        count = int(np.clip(STEPS // max(span, 1), LEAST, MOST)) * (2 if self._few else 1)
        chosen = good[np.unique(np.linspace(0, max(len(good) - 1, 0), count).astype(np.intp))] \
            if len(good) else good  # fmt: skip
        return np.stack([rows[chosen], ends[chosen]], axis=1)

    def _settled(self) -> Indices:
        """The half of the predictions that depends least on where the solver starts."""
        apart = np.abs(self.miss() - self.miss(warm=False)).max(axis=1)
        chosen = np.sort(np.argsort(apart, kind="stable")[: (len(apart) + 1) // 2])
        found: Indices = self._rows[chosen]
        return found

    def miss(self, recording: Recording | None = None, *, warm: bool = True) -> FloatArray:
        """Velocity here minus recorded at the end of every prediction, as the world is now.

        Args:
            recording: with other setpoints; None: the recording itself.
            warm: where it matters, run the sample before each prediction for the solver's start.
        """
        recorded, data = self._pair.recorded, self._world.data
        assert recorded.qvel is not None
        found = []
        with TargetsPlayer(
            recording or self._recording, self._world, robot=self._robot, resample=True
        ) as player:
            player.start()
            for start, end in self._rows.tolist():
                data.qacc_warmstart[:] = 0.0
                if self._few and warm and start > 0:
                    self._run(player, start - 1, start)
                self._run(player, start, end)
                found.append(
                    np.concatenate(
                        [data.qvel[h.dof] - recorded.qvel[end][t.dof] for t, h in self._pair.joints]
                    )
                )
        errors: FloatArray = np.nan_to_num(np.array(found), nan=1e3, posinf=1e3, neginf=-1e3)
        return errors

    def _run(self, player: TargetsPlayer, start: int, end: int) -> None:
        """From one recorded row to the step of another."""
        recorded, data = self._pair.recorded, self._world.data
        assert recorded.qvel is not None
        self._pair.qpos(recorded.qpos[start], data.qpos)
        self._pair.qvel(recorded.qvel[start], data.qvel)
        data.time = float(recorded.step[start]) * self._world.timestep
        player.seek(int(recorded.step[start] - recorded.step[0]))
        advance(self._world, int(recorded.step[end] - recorded.step[start]))

    def efforts(self, miss: FloatArray) -> FloatArray:
        """What pushed where: misses times the mass matrix, their mean size per dof.

        An error of one joint's own, whatever it is, pushes at that joint, although all move.
        """
        recorded, model = self._pair.recorded, self._world.model
        data, pushes = mujoco.MjData(model), []
        for (_, end), row in zip(self._rows.tolist(), miss, strict=True):
            self._pair.qpos(recorded.qpos[end], data.qpos)
            mujoco.mj_fwdPosition(model, data)
            velocity, push, at = np.zeros(model.nv), np.zeros(model.nv), 0
            for _, here in self._pair.joints:
                count = here.dof.stop - here.dof.start
                velocity[here.dof], at = row[at : at + count], at + count
            mujoco.mj_mulM(model, data, push, velocity)
            pushes.append(np.abs(push))
        found: FloatArray = np.mean(pushes, axis=0)
        return found

    def promise(
        self, apply: Callable[[float], object], undo: Callable[[], object], step: float,
        before: FloatArray,
    ) -> float:  # fmt: skip
        """The share of the miss that a parameter would remove if all were linear in it."""
        apply(step)
        try:
            slope = (self.miss() - before) / step
        finally:
            undo()
        return 1.0 - size(before + _newton(before, slope) * slope) / size(before)

    def fit(
        self, apply: Callable[[float], object], undo: Callable[[], object], step: float,
        before: FloatArray, low: float = -np.inf, scan: Sequence[float] = (),
    ) -> ParameterFit:  # fmt: skip
        """The best change of one parameter: `apply(x)` changes it by x, `undo` takes it back.

        `scan` are changes to begin from where the miss is not smooth; around the best of them the
        last digits are found by halving.
        """

        def missed(x: float) -> FloatArray:
            apply(x)
            try:
                return self.miss()
            finally:
                undo()

        best, here, least = 0.0, before, size(before)
        for x in scan:
            there = missed(x)
            if size(there) < least:
                best, here, least = x, there, size(there)
        for _ in range(ROUNDS):
            slope = (missed(best + step) - here) / step
            towards = _newton(here, slope)
            improved = False
            for share in (1.0, 0.5, 0.25):
                x = float(max(best + share * towards, low))
                there = missed(x)
                if size(there) < least:
                    improved = size(there) < 0.9 * least
                    best, here, least = x, there, size(there)
                    break
            if not improved or least < EXACT:
                break
        half = least < 0.5 * size(before)
        width = 2.0 * step if scan and half and least > EXACT else 0.0
        while width > 0.02 * step:
            for x in (best - width, best + width):
                found = size(missed(x))
                if found < least:
                    best, least = x, found
            width *= 0.5
        return ParameterFit(best, size(before), least)


def size(miss: FloatArray) -> float:
    """How much was missed: the mean of magnitudes, which single impacts do not rule."""
    return float(np.mean(np.abs(miss)))


def _newton(miss: FloatArray, slope: FloatArray) -> float:
    """The change that removes most of a miss; impacts, which are not smooth, count less."""
    a, b = slope.ravel(), -miss.ravel()
    weight = np.ones_like(a)
    found = 0.0
    for _ in range(5):
        bottom = float(np.sum(weight * a * a))
        if bottom <= 0.0:
            return 0.0
        found = float(np.sum(weight * a * b)) / bottom
        weight = 1.0 / np.maximum(np.abs(found * a - b), 1e-9)
    return found
