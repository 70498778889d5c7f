"""Differences between two plants."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mjrig.control.plant import OVERALL, PER_JOINT, Plant
from mjrig.names import how_many, listed

#: Numbers with a smaller relative difference are equal: files round.
SAME = 1e-6
#: Properties that do not affect how setpoints move a robot.
NOT_COMPARED = ("joint_order", "model_hash", "mujoco")
#: Properties that affect only a policy, never recorded setpoints.
OF_POLICIES = ("default_pose", "action_scale", "decimation", "phase")
#: With more joints than this, or with all, a property is one difference, not one per joint.
ONE_BY_ONE = 4


@dataclass(frozen=True)
class PlantDifference:
    """One property that differs: of one or several joints, or of the whole robot (no joints)."""

    what: str
    recorded: Mapping[str, float] | object
    here: Mapping[str, float] | object
    joints: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """The joint, or how many and which."""
        if not self.joints:
            return ""
        if len(self.joints) == 1:
            return self.joints[0]
        return f"{how_many(len(self.joints), 'joint')}: {listed(self.joints)}"

    def recorded_value(self) -> object:
        """One value, or one per joint."""
        return _value(self.recorded, self.joints)

    def here_value(self) -> object:
        """One value, or one per joint."""
        return _value(self.here, self.joints)


def _value(values: object, joints: tuple[str, ...]) -> object:
    if not joints:
        return values
    assert isinstance(values, Mapping)
    found = {j: values[j] for j in joints}
    different = set(found.values())
    return next(iter(different)) if len(different) == 1 else found


def differences(
    recorded: Plant, here: Plant, names: Mapping[str, str], *, policy: bool = False
) -> list[PlantDifference]:
    """Differences in what both sides state; joints by their names here.

    Args:
        recorded: plant of a recording, or the one a policy was trained for.
        here: plant of the running world.
        names: recorded joint → joint here.
        policy: also compare what only a policy depends on.
    """
    skipped = NOT_COMPARED if policy else (*NOT_COMPARED, *OF_POLICIES)
    found = []
    for what in OVERALL:
        if what in skipped or what not in recorded.overall or what not in here.overall:
            continue
        there, now = recorded.overall[what], here.overall[what]
        if not _same(there, now):
            found.append(PlantDifference(what, there, now))
    for what in PER_JOINT:
        if what in skipped or what not in recorded.joints or what not in here.joints:
            continue
        theirs = {names[j]: v for j, v in recorded.joints[what].items() if j in names}
        ours = here.joints[what]
        off = tuple(j for j in theirs if j in ours and not _same(theirs[j], ours[j]))
        everywhere = len(off) > 1 and len(off) == len(theirs.keys() & ours.keys())
        if len(off) <= ONE_BY_ONE and not everywhere:
            found += [PlantDifference(what, theirs, ours, (j,)) for j in off]
        else:
            found.append(PlantDifference(what, theirs, ours, off))
    return found


def _same(a: object, b: object) -> bool:
    if isinstance(a, int | float) and isinstance(b, int | float):
        return bool(a == b or np.isclose(a, b, rtol=SAME, atol=1e-12))
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    return a == b
