"""Checks from the reset to the first tick: history, gains and targets of the stand."""

from collections.abc import Iterator, Mapping

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.control.setpoints import POSITION
from mjrig.core.findings import Finding
from mjrig.core.names import listed
from mjrig.core.sim.plant_parameters import plant_of
from mjrig.lab.replay.diagnosis.policy_case import PolicyCase, real_ticks
from mjrig.lab.replay.finding import repair, replay_finding
from mjrig.lab.replay.repairs import joint_slots, resolved, values_edit
from mjrig.lab.replay.start_state import start

#: Relative difference of gains, and difference of targets [rad or m], that counts.
GAIN, POSE = 1e-3, 1e-3
#: Values below this are zero: observations are float32.
ZERO = 1e-9
GAINS = ("kp", "kv")
TARGET = "start.target"


class StartChecks:
    """Compares what rules before the first tick; `open` says what cannot be."""

    def __init__(self, case: PolicyCase) -> None:
        self._case = case
        self.open: list[str] = []

    def run(self) -> list[Finding]:
        """Findings."""
        if not self._case.from_the_start:
            self.open.append("the start: the recording begins while the policy runs")
            return []
        return [*self._fill(), *self._gains(), *self._target()]

    # History ------------------------------------------------------------------------------------

    def _fill(self) -> Iterator[Finding]:
        """What earlier values are before there are any."""
        case, layout = self._case, self._case.layout
        if layout is None or not layout.has_history:
            return
        observation = case.ticks.observation
        if observation.shape[1] != case.policy.observation.size:
            return
        first = observation[real_ticks(case.ticks)[0]].astype(np.float64)
        zeros, repeated, told = True, True, False
        for places in layout.places():
            now, before = first[places[0]], first[places[1:]]
            if not before.size or np.abs(now).max() < ZERO:
                continue
            told = True
            zeros &= bool(np.abs(before).max() < ZERO)
            repeated &= bool(np.abs(before - now).max() < ZERO)
        here = str(((case.said.get("observation") or {}).get("history") or {}).get("fill", "first"))
        if not told or zeros == repeated:
            self.open.append("history.fill: the first recorded observation shows neither")
            return
        recorded = "zeros" if zeros else "first"
        if recorded != here:
            shown = "zeros" if zeros else "the present values"
            edit, kind = repair("policy", "observation.history.fill", recorded), "history.fill"
            yield replay_finding(kind, "", recorded, here, kind, 1.0, (edit,), shown=shown)

    # The stand ----------------------------------------------------------------------------------

    @property
    def _stand(self) -> int:
        """Steps before the first recorded tick."""
        return int(self._case.ticks.step[real_ticks(self._case.ticks)[0]])

    def _gains(self) -> Iterator[Finding]:
        """Gains while the robot stands, where the recording lists its gains."""
        case, said = self._case, self._case.said.get("start") or {}
        if self._stand < 1 or (case.began <= 0.0 and not case.match.recorded.gain_changes):
            return
        joints = list(case.policy.joints)
        own = plant_of(case.world, case.match.robot).joints
        for what in GAINS:
            recorded = self._recorded(what)
            if not recorded:
                self.open.append(f"start.{what}: the recording lists no gains")
                continue
            authored = own.get(what, {})
            here = {j: authored.get(j, 0.0) for j in joints}
            if said.get(what) is not None and case.began > 0.0:
                values = resolved(said[what], joint_slots(case.file_joints), 0.0)
                here = dict(zip(joints, values.tolist(), strict=True))
            off = [j for j in joints if j in recorded and _differ(recorded[j], here[j])]
            if off:
                yield self._gain(what, off, recorded, here)

    def _gain(
        self, what: str, off: list[str], recorded: Mapping[str, float], here: Mapping[str, float]
    ) -> Finding:
        case, joints = self._case, list(self._case.policy.joints)
        said = (case.said.get("start") or {}).get(what)
        new, old = ({j: float(f"{v[j]:.7g}") for j in off} for v in (recorded, here))
        places = {joints.index(j): v for j, v in new.items()}
        now = {joints.index(j): v for j, v in old.items()}
        if said is None:  # a gain of the stand is given for all joints or for none
            places = {i: float(f"{recorded.get(j, here[j]):.7g}") for i, j in enumerate(joints)}
            now = {i: here[j] for i, j in enumerate(joints)}
        slots = joint_slots(case.file_joints)
        edit = values_edit("policy", f"start.{what}", said, slots, places, now)
        alike = len(set(new.values())) == len(set(old.values())) == 1
        return replay_finding(
            f"start.{what}",
            "" if len(off) == len(joints) else listed(off),
            next(iter(new.values())) if alike else new,
            next(iter(old.values())) if alike else old,
            "start gains",
            1.0,
            (edit,) if case.began > 0.0 else (),
            steps=self._stand,
        )

    def _recorded(self, what: str) -> dict[str, float]:
        """Recorded gains at the first step, by names here."""
        actor, names = (
            self._case.match.recorded,
            {a.name: b.name for a, b in self._case.match.single},
        )
        found = {names[j]: v for j, v in actor.plant.joints.get(what, {}).items() if j in names}
        for change in actor.gain_changes:
            if change.step <= int(actor.step[0]) and change.gains is not None:
                for joint, value in zip(actor.driven, change.gains.get(what, ()), strict=False):
                    if joint in names and np.isfinite(value):
                        found[names[joint]] = float(value)
        return found

    def _target(self) -> Iterator[Finding]:
        """Positions held until the first tick."""
        case, joints = self._case, list(self._case.policy.joints)
        if self._stand < 1 or case.match.recorded.commands is None:
            return
        start(case.world, case.recording, case.matches)
        columns = [_column(case, j) for j in joints]
        here: FloatArray = case.match.robot.setpoints.values[POSITION, columns].copy()
        steps = np.arange(min(self._stand, 2))
        recorded = case.targets_at(joints, steps, "position")[-1]
        off = np.flatnonzero(np.abs(recorded - here) > POSE)
        if not off.size:
            return
        pose = case.policy.plant().joints.get("default_pose", {})
        default = np.array([pose.get(j, 0.0) for j in joints])
        new: object = [float(f"{v:.6g}") for v in recorded]
        if np.abs(recorded - default).max() < POSE:
            new = "default"
        said = (case.said.get("start") or {}).get("target", "default")
        yield replay_finding(
            TARGET,
            listed(joints[i] for i in off) if len(off) <= 4 else f"{len(off)} joints",
            new if new == "default" else {joints[i]: float(f"{recorded[i]:.6g}") for i in off},
            said if isinstance(said, str) else {joints[i]: float(f"{here[i]:.6g}") for i in off},
            "start target",
            1.0,
            (repair("policy", TARGET, new),),
            largest=float(np.abs(recorded - here).max()),
            largest_unit=case.unit_of(joints[i] for i in off),
        )


def _differ(a: float, b: float) -> bool:
    return abs(a - b) > GAIN * max(abs(a), abs(b))


def _column(case: PolicyCase, joint: str) -> int:
    robot = case.match.robot
    binding = next(b for b in robot.actuators if joint in (b.joint, b.actuator))
    return robot.actuator_names.index(binding.actuator)
