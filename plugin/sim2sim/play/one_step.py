"""One-step predictions: one step from every recorded state, compared with the next state."""

from dataclasses import dataclass, field

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.recording.recording import Recording
from mjrig.sim.world import World
from mjrig.sim2sim.compare.finding import ReplayFinding
from mjrig.sim2sim.compare.matching import Indices, Match
from mjrig.sim2sim.play.players import TargetsPlayer

#: Steps to compare; more add nothing.
MOST = 400
#: A change of velocity in one step that physics did not make [rad/s or m/s].
JUMP = 1e-2
#: Below this, two steps are the same: solvers stop somewhere [rad/s or m/s].
SAME = 1e-5


@dataclass
class OneStepFound:
    """Findings and notes."""

    findings: list[ReplayFinding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class OneStep:
    """Looks at the steps of the first robot whose states were recorded at physics rate."""

    def __init__(
        self, recording: Recording, world: World, robot: str, *, resample: bool = False
    ) -> None:
        self._recording, self._world = recording, world
        self._robot, self._resample = robot, resample

    def run(self) -> OneStepFound | None:
        """The result of single steps; None: none can be compared."""
        with TargetsPlayer(
            self._recording, self._world, robot=self._robot, resample=self._resample
        ) as player:
            pair = player.matches[0]
            rows = self._rows(pair)
            if len(player.matches) > 1 or player.ratio != 1.0 or len(rows) < 10:
                return None
            player.start()
            residual = np.array([self._residual(player, pair, int(row)) for row in rows])
        return self._judge(pair, rows, residual)

    def _rows(self, pair: Match) -> Indices:
        recorded = pair.recorded
        if recorded.qvel is None:
            return np.empty(0, dtype=np.intp)
        return np.flatnonzero(np.diff(recorded.step) == 1)[:MOST]

    def _residual(self, player: TargetsPlayer, pair: Match, row: int) -> FloatArray:
        """Velocity here minus recorded after one step, per joint."""
        recorded, data = pair.recorded, self._world.data
        assert recorded.qvel is not None
        pair.qpos(recorded.qpos[row], data.qpos)
        pair.qvel(recorded.qvel[row], data.qvel)
        player.seek(int(recorded.step[row] - recorded.step[0]))
        self._world.step(1)
        after = recorded.qvel[row + 1]
        return np.array(
            [np.abs(data.qvel[here.dof] - after[there.dof]).max() for there, here in pair.joints]
        )

    def _judge(self, pair: Match, rows: Indices, residual: FloatArray) -> OneStepFound:
        found = OneStepFound()
        worst = residual.max(axis=1)
        jumps = worst > JUMP
        names = [here.name for _, here in pair.joints]
        if 0 < jumps.sum() <= 0.3 * len(jumps) and np.median(worst[~jumps]) < SAME:
            jumped = residual[jumps].max(axis=0)
            # Coupled joints react too; the one that was written jumps most.
            most = max(JUMP, 0.5 * float(jumped.max()))
            joints = [n for n, r in zip(names, jumped, strict=True) if r > most]
            when = float(pair.recorded.time[int(rows[np.flatnonzero(jumps)[0]])])
            found.findings.append(
                ReplayFinding(
                    "state edited by the source",
                    ", ".join(joints[:6]),
                    f"velocity jumps by {jumped.max():.3g} in {int(jumps.sum())} of "
                    f"{len(jumps)} steps, first at {when:.3f} s",
                    "no such jump",
                    "all other steps agree: something acted at these only, as where a source loop "
                    "writes into its state; setpoints alone cannot reproduce it",
                )
            )
        elif np.median(worst) > SAME:
            joint = names[int(np.median(residual, axis=0).argmax())]
            found.notes.append(
                f"single steps from recorded states differ too, most at {joint} (median "
                f"{np.median(worst):.2g} rad/s or m/s a step): the physics or the law differs"
            )
        return found
