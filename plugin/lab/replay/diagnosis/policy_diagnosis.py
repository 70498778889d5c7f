"""Differences between the plant a policy was trained for and this world, by closed-loop effect."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mjrig.core.control.articulation import Articulation
from mjrig.core.control.plant import PER_JOINT
from mjrig.core.control.policy import PolicyComponent
from mjrig.core.findings import Finding
from mjrig.core.sim.plant_parameters import plant_of
from mjrig.core.sim.world import World
from mjrig.lab.replay.diagnosis.plant_differences import apply, differences
from mjrig.lab.replay.finding import replay_finding
from mjrig.lab.replay.plant_edit import CannotEdit, PlantEdit
from mjrig.lab.replay.result import Trial
from mjrig.lab.replay.trials import PolicyRun

#: Least change of uprightness, saturation and tracking that is reported.
NOTABLE = 0.02


class PolicyDiagnosis:
    """Runs the policy again with one difference undone at a time; `again` is such a run."""

    def __init__(
        self,
        world: World,
        robot: Articulation,
        policy: PolicyComponent,
        run: PolicyRun,
        again: Callable[[], PolicyRun],
    ) -> None:
        self._world, self._robot, self._policy = world, robot, policy
        self._nominal, self._again = run.trial, again
        self._asked = run.track.timestep * max(run.track.taken, 1)

    def run(self) -> tuple[list[Finding], list[str]]:
        """Findings, the most important first, and notes."""
        made_for = self._policy.plant()
        known = [w for w in PER_JOINT if w in made_for.joints and w != "default_pose"]
        notes = []
        if not set(known) - {"action_scale"}:
            notes.append(
                "the policy file does not state what it was trained with (trained:): gains, limits "
                "and joints could not be compared"
            )
        if made_for.recovered:
            notes.append(f"recovered, not read: {', '.join(made_for.recovered)}")
        found = sorted(self._findings(), key=lambda f: -1.0 if f.share is None else f.share)
        return found[::-1], notes

    def _findings(self) -> Iterator[Finding]:
        here = plant_of(self._world, self._robot)
        names = {j: j for j in self._robot.joint_names}
        for plant in differences(self._policy.plant(), here, names, policy=True):
            try:
                with PlantEdit(self._world, self._robot) as edit:
                    apply(edit, plant)
                    share, form, values = self._effect(self._again().trial)
            except CannotEdit as reason:
                share, form = None, "not tried"
                values: dict[str, Any] = {"reason": str(reason)}
            yield replay_finding(
                plant.what,
                plant.where,
                plant.recorded_value(),
                plant.here_value(),
                form,
                share,
                origin="policy file",
                **values,
            )

    def _effect(self, trial: Trial) -> tuple[float, str, dict[str, Any]]:
        """Improvement without the difference, 0 to 1, its sentence and numbers."""
        before = self._nominal
        if before.fell:
            if not trial.fell:
                return 1.0, "undone, stays up", {}
            longer = trial.duration - before.duration
            if longer > 0.1:
                share = min(1.0, longer / max(self._asked - before.duration, 1e-9))
                return share, "undone, falls later", {"longer": longer}
            return 0.0, "undone, still falls", {}
        if trial.fell:
            return 0.0, "undone, falls", {}
        parts, gains = [], [0.0]
        if abs(before.saturation - trial.saturation) > NOTABLE:
            parts.append(f"saturation {before.saturation:.0%} → {trial.saturation:.0%}")
            gains.append(before.saturation - trial.saturation)
        a, b = before.tracking_error, trial.tracking_error
        if a is not None and b is not None and abs(a - b) > NOTABLE:
            parts.append(f"tracking error {a:.2f} → {b:.2f}")
            gains.append(a - b)
        if abs(before.upright - trial.upright) > NOTABLE:
            parts.append(f"least uprightness {before.upright:.2f} → {trial.upright:.2f}")
            gains.append(trial.upright - before.upright)
        moved = ""
        if before.base_end is not None and trial.base_end is not None:
            distance = float(np.linalg.norm(np.subtract(before.base_end, trial.base_end)))
            moved = f"the base ends {distance:.2f} m elsewhere"
        if not parts:
            return 0.0, "undone, little changes", {"moved": moved}
        changes = [*parts, *([moved] if moved else [])]
        return min(1.0, max(0.0, *gains)), "undone, changes", {"changes": changes}
