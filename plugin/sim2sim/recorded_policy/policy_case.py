"""PolicyCase: a policy, its file and a recording of it, as the checks of its terms need them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import yaml

from mjrig.arrays import FloatArray
from mjrig.control.plant import at_joint
from mjrig.control.policy import PolicyComponent
from mjrig.errors import RecordingError
from mjrig.recording.recording import PolicyTicks, Recording
from mjrig.sim.world import World
from mjrig.sim2sim.compare.matching import Match
from mjrig.sim2sim.recorded_policy.recomputed import Recomputed, real_ticks, recompute
from mjrig.sim2sim.recorded_policy.term_layout import TermLayout, layout_of


@dataclass(frozen=True)
class PolicyCase:
    """A policy on a robot of the world, and the recording of a run of it.

    `shift` is how many steps later the policy began in the recording than here.
    """

    recording: Recording
    world: World
    matches: Sequence[Match]
    policy: PolicyComponent
    said: Mapping[str, Any]
    shift: int = 0

    @property
    def match(self) -> Match:
        """The robot."""
        return self.matches[0]

    @property
    def ticks(self) -> PolicyTicks:
        """Its recorded ticks."""
        found = self.match.recorded.policy
        assert found is not None
        return found

    @property
    def began(self) -> float:
        """When the policy begins here, after the stand [s]."""
        stand = self.said.get("start")
        duration = stand.get("duration", 0.0) if isinstance(stand, Mapping) else 0.0
        return float(duration)

    @property
    def joints(self) -> tuple[str, ...]:
        """The recorded columns of actions, by their names here."""
        names = {a.name: b.name for a, b in self.match.joints}
        return tuple(names.get(j, j) for j in self.ticks.joints)

    def unit_of(self, joints: Iterable[str], unit: str = "rad") -> str:
        """The unit of a number of some joints, given that of joints that turn; or both units."""
        every = self.match.robot.actuators
        own = (next(b for b in every if j in (b.joint, b.actuator)) for j in joints)
        units = [at_joint(unit, slides=binding.effort_unit == "N") for binding in own]
        return " or ".join(dict.fromkeys(units))

    @property
    def file_joints(self) -> list[str]:
        """The policy's joints as its file names them."""
        return [str(j) for j in self.said["joints"]]

    @cached_property
    def from_the_start(self) -> bool:
        """Whether the recording begins with the reset, not while the policy runs."""
        actor, rows = self.match.recorded, real_ticks(self.ticks)
        if int(actor.step[0]) or abs(float(actor.time[0])) > 1e-9 or not rows:
            return False
        layout, first = self.layout, self.ticks.observation[rows[0]]
        if layout is None or first.size != self.policy.observation.size:
            return True
        pairs = zip(layout.terms, layout.places(), strict=True)
        return not any(t.kind == "LastAction" and first[p].any() for t, p in pairs)

    @cached_property
    def layout(self) -> TermLayout | None:
        """The terms of the observation; None: their sizes are not known."""
        command = int(np.size(self.policy.command_now))
        size = int(self.policy.observation.size)
        return layout_of(self.said, self.policy.joints, command, self.match.robot, size)

    @cached_property
    def recomputed(self) -> Recomputed | None:
        """What the policy here observes at the recorded states."""
        return recompute(
            self.recording,
            self.world,
            self.matches,
            self.policy,
            sensors=self.reads_sensors,
            shift=self.shift,
        )

    @property
    def reads_sensors(self) -> bool:
        """Whether a term reads a sensor."""
        terms = (self.said.get("observation") or {}).get("terms") or ()
        return any(t.get("sensor") for t in terms if isinstance(t, Mapping))

    def targets_at(
        self, joints: Sequence[str], steps: npt.NDArray[np.int64], row: str
    ) -> FloatArray:
        """Recorded setpoints of joints at physics steps, (steps, joints)."""
        commands = self.match.recorded.commands
        assert commands is not None
        names = {a.name: b.name for a, b in self.match.joints}
        driven = [names.get(j, j) for j in self.match.recorded.driven]
        held = np.searchsorted(commands.step, steps, side="right") - 1
        values: FloatArray = getattr(commands, row)
        return values[np.maximum(held, 0)][:, [driven.index(j) for j in joints]]


def read_policy(path: Path) -> dict[str, Any]:
    """A policy file as data.

    Raises:
        RecordingError: it cannot be read, or is none.
    """
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        why = " ".join(str(error).split())
        raise RecordingError(f"{path}: cannot be read: {why}") from error
    if not isinstance(data, dict) or not isinstance(data.get("joints"), list):
        raise RecordingError(f"{path}: is not a policy file: it has no list of joints")
    return data
