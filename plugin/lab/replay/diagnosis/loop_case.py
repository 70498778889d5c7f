"""LoopCase: a policy in the loop, run again with differences to what it was trained for undone."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mjrig.core.control.articulation import Articulation
from mjrig.core.control.policy import PolicyComponent
from mjrig.core.findings import Finding
from mjrig.core.sim.plant_parameters import plant_of
from mjrig.core.sim.world import World
from mjrig.lab.replay.diagnosis.hypothesis import Alternative, Aspect, Case
from mjrig.lab.replay.diagnosis.plant_differences import differences
from mjrig.lab.replay.finding import replay_finding
from mjrig.lab.replay.plant_edit import PlantEdit
from mjrig.lab.replay.result import Trial
from mjrig.lab.replay.trials import PolicyRun

#: Least change of uprightness, saturation and tracking that is reported: two runs of a walking
#: robot that differ by rounding differ by less.
NOTABLE = 0.02
#: Least time by which a fall is later [s].
LATER = 0.1


class LoopCase(Case):
    """Runs the policy again with one difference undone at a time; `again` is such a run."""

    aspects = frozenset({Aspect.TRAINED})

    def __init__(
        self,
        world: World,
        robot: Articulation,
        policy: PolicyComponent,
        run: PolicyRun,
        again: Callable[[], PolicyRun],
    ) -> None:
        self.world, self.robot, self.policy = world, robot, policy
        self._nominal, self._again = run.trial, again
        self._asked = run.track.timestep * max(run.track.taken, 1)

    def tried(self, alternative: Alternative) -> Finding:
        """The finding with the effect on the run of the policy."""
        assert alternative.change is not None
        robot, change = alternative.change
        with PlantEdit(self.world, robot) as edit:
            change(edit)
            share, form, values = self._effect(self._again().trial)
        finding = alternative.finding
        return replace(finding, share=share, form=form, evidence={**finding.evidence, **values})

    def _effect(self, trial: Trial) -> tuple[float, str, Mapping[str, Any]]:
        """Improvement without the difference, 0 to 1, its sentence and numbers."""
        before = self._nominal
        if before.fell and not trial.fell:
            return 1.0, "undone, stays up", {}
        if before.fell:
            longer = trial.duration - before.duration
            if longer <= LATER:
                return 0.0, "undone, still falls", {}
            share = min(1.0, longer / max(self._asked - before.duration, 1e-9))
            return share, "undone, falls later", {"longer": longer}
        if trial.fell:
            return 0.0, "undone, falls", {}
        changes, gains = [], [0.0]
        if abs(before.saturation - trial.saturation) > NOTABLE:
            changes.append(f"saturation {before.saturation:.0%} → {trial.saturation:.0%}")
            gains.append(before.saturation - trial.saturation)
        a, b = before.tracking_error, trial.tracking_error
        if a is not None and b is not None and abs(a - b) > NOTABLE:
            changes.append(f"tracking error {a:.2f} → {b:.2f}")
            gains.append(a - b)
        if abs(before.upright - trial.upright) > NOTABLE:
            changes.append(f"least uprightness {before.upright:.2f} → {trial.upright:.2f}")
            gains.append(trial.upright - before.upright)
        moved = ""
        if before.base_end is not None and trial.base_end is not None:
            distance = float(np.linalg.norm(np.subtract(before.base_end, trial.base_end)))
            moved = f"the base ends {distance:.2f} m elsewhere"
        if not changes:
            return 0.0, "undone, little changes", {"moved": moved}
        changes += [moved] if moved else []
        return min(1.0, max(gains)), "undone, changes", {"changes": changes}


def trained_plant(case: LoopCase) -> Iterator[Alternative]:
    """What differs from the plant that a policy was trained with."""
    here, names = plant_of(case.world, case.robot), {j: j for j in case.robot.joint_names}
    for difference in differences(case.policy.plant(), here, names, policy=True):
        there, now = difference.recorded_value(), difference.here_value()
        finding = replay_finding(
            difference.what, difference.where, there, now, "undone", origin="policy file"
        )
        yield Alternative(finding, (case.robot, difference.apply), untried="not tried")
