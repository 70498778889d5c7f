"""PolicyCase: a policy, its file and a recording of it, as hypotheses about the policy need them.

Includes the layout of an observation, and observations recomputed from recorded states.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import mujoco
import numpy as np
import numpy.typing as npt
import yaml

from mjrig.core.arrays import FloatArray
from mjrig.core.control.articulation import Articulation
from mjrig.core.control.plant import at_joint
from mjrig.core.control.policy import PolicyComponent
from mjrig.core.errors import RecordingError
from mjrig.core.findings import Finding, RepairEdit
from mjrig.core.sim.world import World
from mjrig.data.recording.recording import PolicyTicks, Recording
from mjrig.lab.replay.diagnosis.hypothesis import MAX_SAMPLES, MIN_SAMPLES, POLICY, Aspect, Case
from mjrig.lab.replay.finding import replay_finding
from mjrig.lab.replay.matching import Indices, Match
from mjrig.lab.replay.repairs import joint_slots, some, values_edit
from mjrig.lab.replay.start_state import start

# Term layout --------------------------------------------------------------------------------------
# Layout of an observation: which values belong to which term of a policy file, and how old.


OLDEST, NEWEST = "oldest_first", "newest_first"
TERM, FRAME = "term", "frame"
#: Terms with three values, and with one per joint of the policy.
_VECTORS = ("BaseAngularVelocity", "BaseLinearVelocity", "ProjectedGravity")
_PER_JOINT = ("JointPositions", "JointVelocities", "JointTargetErrors", "LastAction")


@dataclass(frozen=True)
class LayoutTerm:
    """One term: its place in the file, its type, how many values it has and what is said of it."""

    index: int
    kind: str
    size: int
    history: int
    said: Mapping[str, Any]
    joints: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its type, and the sensor it reads if there is one."""
        sensor = self.said.get("sensor") or self.said.get("site")
        return f"{self.kind} ({sensor})" if sensor else self.kind

    @property
    def path(self) -> str:
        """Where it is in the policy file."""
        return f"observation.terms[{self.index}]"

    @property
    def scale(self) -> FloatArray:
        """The factor of each of its values."""
        return spread(self.said.get("scale", 1.0), self.size)


@dataclass(frozen=True)
class TermLayout:
    """All terms, and how their histories are arranged."""

    terms: tuple[LayoutTerm, ...]
    order: str = OLDEST
    by: str = TERM

    @property
    def has_history(self) -> bool:
        """Whether earlier values are part of the observation."""
        return any(t.history > 1 for t in self.terms)

    def places(self, order: str = "", by: str = "") -> list[Indices]:
        """Per term the places of its values, (age, value); age 0 is the present tick."""
        order, by = order or self.order, by or self.by
        found: dict[int, Indices] = {}
        start = 0
        for block in self._blocks(by):
            width, first = sum(t.size for t in block), start
            for term in block:
                ages = np.arange(term.history)
                rows = ages if order == NEWEST else term.history - 1 - ages
                found[id(term)] = first + rows[:, None] * width + np.arange(term.size)
                first += term.size
            start += sum(t.size * t.history for t in block)
        return [found[id(term)] for term in self.terms]

    def _blocks(self, by: str) -> list[list[LayoutTerm]]:
        """Terms whose values lie together: each alone, or frames of all that feed an input."""
        if by != FRAME:
            return [[term] for term in self.terms]
        found: dict[str, list[LayoutTerm]] = {}
        for term in self.terms:
            found.setdefault(str(term.said.get("input") or ""), []).append(term)
        return list(found.values())


def layout_of(case: "PolicyCase") -> TermLayout | None:
    """The layout of the policy file's observation; None: the sizes do not add up."""
    joints, size = case.policy.joints, int(case.policy.observation.size)
    command, robot = int(np.size(case.policy.command_now)), case.match.robot
    observation = case.said.get("observation") or {}
    kept = observation.get("history") or {}
    length = int(kept.get("length", 1))
    found: list[tuple[Mapping[str, Any], int | None]] = [
        (term, _size(term, joints, command, robot)) for term in observation.get("terms") or ()
    ]
    lengths = [int(term.get("history") or length) for term, _ in found]
    unknown = [i for i, (_, own) in enumerate(found) if own is None]
    known = sum((own or 0) * n for (_, own), n in zip(found, lengths, strict=True))
    if len(unknown) > 1:
        return None
    if unknown:
        rest, over = divmod(size - known, lengths[unknown[0]])
        if rest < 1 or over:
            return None
        found[unknown[0]] = found[unknown[0]][0], rest
    elif known != size:
        return None
    terms = tuple(
        LayoutTerm(i, str(term.get("type")), own or 0, n, term, _joints(term, joints))
        for i, ((term, own), n) in enumerate(zip(found, lengths, strict=True))
    )
    return TermLayout(terms, str(kept.get("order", OLDEST)), str(kept.get("by", TERM)))


def _joints(term: Mapping[str, Any], joints: Sequence[str]) -> tuple[str, ...]:
    return tuple(term.get("joints") or joints) if term.get("type") in _PER_JOINT else ()


def _size(
    term: Mapping[str, Any], joints: Sequence[str], command: int, robot: Articulation
) -> int | None:
    kind, found = term.get("type"), None
    if kind in _VECTORS:
        found = 3
    elif kind in _PER_JOINT:
        found = len(_joints(term, joints))
    elif kind == "CommandTerm":
        found = command
    elif kind == "GaitPhase":
        offsets = len(np.ravel(term.get("offsets", [0.0])))
        found = offsets * (1 if term.get("form") == "phase" else 2)
    elif kind == "Constant":
        found = int(np.size(term.get("values", 0.0)))
    elif kind == "RelativeRotation":
        found = 3 * len(term.get("rows", (0, 1, 2)))
    elif kind == "SensorTerm" and term.get("sensor") in robot.sensors:
        found = int(robot.sensors[term["sensor"]].size)
    return found


# Recomputed ---------------------------------------------------------------------------------------
# Observations recomputed from recorded states by the policy here; nothing is simulated.


#: Ticks that are enough for a judgement: with so many, sensors are judged only where the step
#: before was recorded too, and therefore what they held.
ENOUGH_TICKS = 15


@dataclass(frozen=True)
class Recomputed:
    """Ticks of a recording, what was observed there, and what the policy here observes.

    `ticks` are the rows of the recording's policy ticks that are ticks here too; the rows of the
    other arrays are those. `sharp` are the rows at which sensors hold what they held in the
    recording.
    """

    ticks: Indices
    recorded: FloatArray
    here: FloatArray
    sharp: Indices


def real_ticks(ticks: PolicyTicks) -> list[int]:
    """Rows that hold an observation: some files begin with a row of zeros."""
    rows = range(len(ticks.step))
    return [p for p in rows if ticks.observation[p].any() or ticks.action[p].any()]


def schedule_of(
    ticks: PolicyTicks, timestep: float, began: float
) -> list[tuple[float, list[float]]]:
    """The recorded commands as a schedule; times count from when the policy began [s]."""
    found: list[tuple[float, list[float]]] = []
    for p in real_ticks(ticks):
        values = ticks.command[p].tolist()
        if not found or values != found[-1][1]:
            found.append((float(ticks.step[p]) * timestep - began, values))
    return found


def recompute(case: "PolicyCase") -> Recomputed | None:
    """Let the policy look at every recorded state; None: states at its ticks were not recorded."""
    actor, ticks, policy, world = case.match.recorded, case.ticks, case.policy, case.world
    at = {int(s): i for i, s in enumerate(actor.step)}
    rows = [p for p in real_ticks(ticks) if int(ticks.step[p]) in at][:MAX_SAMPLES]
    # Sensors hold what the step before measured.
    stale = case.reads_sensors and not policy.needs_position_stage
    if not rows or ticks.observation.shape[1] != policy.observation.size:
        return None
    start(world, case.recording, case.matches)
    found: list[int] = []
    seen = []
    for p in rows:
        step = int(ticks.step[p])
        _show(world, case.matches, at.get(step - 1, at[step]) if stale else at[step])
        if stale:
            _place(world, case.matches, at[step])
        world.data.time = (step - case.shift) * world.timestep
        before = policy.ticks
        policy.before_controls(world.data.time)
        if policy.ticks > before:
            found.append(p)
            seen.append(policy.observation.astype(np.float64))
    known = [i for i, p in enumerate(found) if not stale or int(ticks.step[p]) - 1 in at]
    sharp = known if len(known) >= ENOUGH_TICKS else range(len(found))
    return Recomputed(
        ticks=np.array(found, dtype=np.intp),
        recorded=ticks.observation[found].astype(np.float64),
        here=np.array(seen) if seen else np.zeros((0, policy.observation.size)),
        sharp=np.array(sharp, dtype=np.intp),
    )


def _place(world: World, matches: Sequence[Match], row: int) -> None:
    for pair in matches:
        pair.qpos(pair.recorded.qpos[row], world.data.qpos)
        if pair.recorded.qvel is not None:
            pair.qvel(pair.recorded.qvel[row], world.data.qvel)


def _show(world: World, matches: Sequence[Match], row: int) -> None:
    _place(world, matches, row)
    mujoco.mj_forward(world.model, world.data)


# Policy case --------------------------------------------------------------------------------------


_View = TypeVar("_View")


@dataclass(eq=False)
class PolicyCase(Case):
    """A policy on a robot of the world, and the recording of a run of it.

    `shift` is how many steps later the policy began in the recording than here, `aspects` what is
    judged of it.
    """

    recording: Recording
    world: World
    matches: Sequence[Match]
    policy: PolicyComponent
    said: Mapping[str, Any]
    shift: int = 0
    aspects: frozenset[Aspect] = frozenset({Aspect.VELOCITY, Aspect.TIMING, Aspect.ORDER, *POLICY})
    _views: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    def view(self, make: "Callable[[PolicyCase], _View]") -> "_View":
        """What several hypotheses look at: made of the case when it is first asked for."""
        if make not in self._views:
            self._views[make] = make(self)
        view: _View = self._views[make]
        return view

    def missing(self, aspect: Aspect) -> str:
        """Why an aspect cannot be judged; empty: it can."""
        if aspect is Aspect.START and not self.from_the_start:
            return "the start: the recording begins while the policy runs"
        if aspect is Aspect.ACTION:
            return self._without_targets()
        if aspect is Aspect.OBSERVATION:
            reason = self._without_terms()
            return reason and f"observation terms: {reason}"
        if aspect is Aspect.NETWORK:
            seen = self.ticks.observation[real_ticks(self.ticks)[:MAX_SAMPLES]]
            if len(seen) < MIN_SAMPLES or seen.shape[1] != self.policy.observation.size:
                return "the network: observations of another size were recorded"
            if set(self.joints) != set(self.policy.joints):
                return "the network: actions of other joints were recorded"
        return ""

    def _without_targets(self) -> str:
        commands = self.match.recorded.commands
        if commands is None or set(self.joints) != set(self.policy.joints):
            return "action to target: no setpoints of the policy's joints were recorded"
        if self.policy.tick_steps < MIN_SAMPLES:
            return ""
        moved = np.abs(np.diff(commands.position, axis=0)).max(axis=1) > 1e-9
        changes, steps = commands.step[1:][moved], self.ticks.step[real_ticks(self.ticks)]
        inside = changes[(changes > steps[0]) & (changes <= steps[-1])]
        if len(inside) <= 2 * len(steps):
            return ""
        return (
            "action to target: targets change between ticks too, as filtered or interpolated at "
            "the physics rate"
        )

    def _without_terms(self) -> str:
        if self.layout is None:
            return "their sizes are not known"
        if self.recomputed is None:
            return "no states at policy ticks, or observations of another size were recorded"
        few = len(self.recomputed.ticks) < MIN_SAMPLES
        return "ticks here fall on other steps than in the recording" if few else ""

    @property
    def match(self) -> Match:
        """The robot."""
        return self.matches[0]

    @property
    def action(self) -> Mapping[str, Any]:
        """What the policy file states about actions."""
        return self.said.get("action") or {}

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

    def joint_edit(
        self, path: str, authored: Any, new: Mapping[str, float], old: Mapping[str, float]
    ) -> RepairEdit:
        """Other values of some joints in the policy file.

        Args:
            path: of the values in it.
            authored: what it states now, or means without stating it.
            new: joint → value.
            old: joint → value here.
        """
        slots, place = joint_slots(self.file_joints), list(self.policy.joints).index
        wanted, here = ({place(j): v for j, v in values.items()} for values in (new, old))
        return values_edit("policy", path, authored, slots, wanted, here)

    def default_finding(
        self, change: Mapping[str, float], form: str, share: float, **evidence: Any
    ) -> Finding:
        """Another default pose: `change` is added to the pose here."""
        pose = self.policy.plant().joints.get("default_pose", {})
        old = {j: pose.get(j, 0.0) for j in change}
        new = {j: float(f"{old[j] + c:.6g}") for j, c in change.items()}
        authored = self.said.get("default")
        edit = self.joint_edit("default", 0.0 if authored is None else authored, new, old)
        there, now = (next(iter(v.values())) if len(v) < 2 else v for v in (new, old))
        kind, fix = "default_pose", (edit,)
        return replay_finding(kind, some(list(new)), there, now, form, share, fix, **evidence)

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
        return layout_of(self)

    @cached_property
    def recomputed(self) -> Recomputed | None:
        """What the policy here observes at the recorded states."""
        return recompute(self)

    @property
    def observed(self) -> "tuple[TermLayout, Recomputed]":
        """Layout and recomputed observations, where it can be judged."""
        assert self.layout is not None and self.recomputed is not None
        return self.layout, self.recomputed

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


# Term frames --------------------------------------------------------------------------------------
# Present values of every observation term: recorded, and recomputed here.


def term_frames(case: PolicyCase) -> list[tuple[FloatArray, FloatArray]]:
    """Per term the present values: recorded, and recomputed here.

    The last action and the current target are the recorded ones: a policy that sees something else
    does something else, and that is not a second cause.
    """
    layout, found = case.observed
    frames = []
    for term, places in zip(layout.terms, layout.places(), strict=True):
        here = found.here[:, places[0]]
        if term.kind == "LastAction" and set(term.joints) <= set(case.policy.joints):
            here = _last_actions(case, term, found)
            if not case.from_the_start:  # actions before the first tick were not recorded
                here[: _age(term)] = found.recorded[: _age(term), places[0]]
        elif term.kind == "JointTargetErrors" and case.match.recorded.commands is not None:
            here = _target_errors(case, term, found)
        frames.append((found.recorded[:, places[0]], here))
    return frames


def _last_actions(case: PolicyCase, term: LayoutTerm, found: Recomputed) -> FloatArray:
    """The actions of the recorded ticks before, delayed and shaped; zeros before the first."""
    real, actions = real_ticks(case.ticks), case.ticks.action
    earlier = dict(zip(real[_age(term) :], real, strict=False))
    columns = [case.policy.joints.index(j) for j in term.joints]
    rows = [actions[earlier[p]] if p in earlier else np.zeros(len(case.policy.joints))
            for p in found.ticks.tolist()]  # fmt: skip
    values = np.array(rows, dtype=np.float64)[:, columns]
    if case.action.get("last", "raw") == "clipped":
        values = clipped(values, case.action.get("clip"))
    if term.said.get("order") == "clip_then_scale":
        return clipped(values, term.said.get("clip")) * term.scale
    return clipped(values * term.scale, term.said.get("clip"))


def _age(term: LayoutTerm) -> int:
    """How many ticks ago the observed action was the network's output."""
    return 1 + int(term.said.get("delay") or 0)


def clipped(values: FloatArray, clip: Any) -> FloatArray:
    """Values within a clip as a policy file states it: a bound, or a lower and an upper one."""
    if clip is None or isinstance(clip, str) or np.ndim(clip) > 1:
        return values
    low, high = (-clip, clip) if np.ndim(clip) == 0 else (clip[0], clip[1])
    bounded: FloatArray = np.clip(values, low, high)
    return bounded


def _target_errors(case: PolicyCase, term: LayoutTerm, found: Recomputed) -> FloatArray:
    """Recorded positions minus the recorded targets that were in force."""
    recorded = case.match.recorded
    at = {here.name: there.qpos.start for there, here in case.match.single}
    steps = case.ticks.step[found.ticks]
    rows = np.searchsorted(recorded.step, steps)
    q = recorded.qpos[rows][:, [at[j] for j in term.joints]]
    difference: FloatArray = q - case.targets_at(term.joints, steps - 1, "position")
    return difference * term.scale


def spread(value: object, size: int) -> FloatArray:
    """One number, or a list, as one value each."""
    return np.broadcast_to(np.asarray(value, dtype=np.float64), (size,)).copy()


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


def copy_policy(data: Mapping[str, Any], path: Path, folder: Path) -> Path:
    """Write a policy file elsewhere; the files that it names stay in their folder."""
    data = {**data, "network": str(folder / str(data.get("network", "")))}
    motion = data.get("motion")
    if isinstance(motion, dict) and motion.get("file"):
        data["motion"] = {**motion, "file": str(folder / str(motion["file"]))}
    path.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    return path
