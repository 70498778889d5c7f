"""Players of a recording in a world: its poses, or its setpoints through the controllers."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from typing import Any, ClassVar, Final, Self

import mujoco
import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.attributes import CheckedAttributes
from mjrig.core.control.controller import ArticulationController
from mjrig.core.control.execution import PlantComponent
from mjrig.core.control.setpoints import Lease, Source
from mjrig.core.errors import MjrigError, RecordingError, phrase
from mjrig.core.names import literal
from mjrig.core.properties.component import ActorComponent
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.sim.world import World
from mjrig.data.recording.recording import JointColumns, Recording
from mjrig.lab.replay.matching import Match, match
from mjrig.lab.replay.plant_edit import PlantEdit
from mjrig.lab.replay.policy_loop import overruled, silenced
from mjrig.lab.replay.start_state import RecordedStart, start

# Recorded edits -----------------------------------------------------------------------------------
# Live edits of a recording, for the components of a world; gains are recorded separately.


@dataclass(frozen=True)
class PropertyEdit:
    """A value that a property had from a step of the recording on; None: its default."""

    step: int
    owner: HasProperties
    name: str
    value: Any


@dataclass
class RecordedEdits:
    """Edits that a replay repeats, in order, and those that it cannot repeat.

    Attributes:
        laws: of controllers.
        plant: of components that belong to the plant, such as friction.
        unrepeated: path → why a replay cannot repeat the edit.
    """

    laws: list[PropertyEdit] = field(default_factory=list)
    plant: list[PropertyEdit] = field(default_factory=list)
    unrepeated: dict[str, str] = field(default_factory=dict)


def recorded_edits(recording: Recording, pair: Match) -> RecordedEdits:
    """The edits of one robot, other than of gains and of components that only command it."""
    edits = RecordedEdits()
    present: dict[int, Mapping[str, Any]] = {}
    for entry in _entries(recording, pair):
        if "components" in entry:
            edits.unrepeated[f"{pair.recorded.name}.components"] = "components were added"
            continue
        path = str(entry["path"])
        *places, name = path.split(".")[1:]
        try:
            component = pair.robot.part(places[0])
            owner = component
            for place in places[1:]:
                owner = owner.part(place)
            values = list(_values(owner, name, entry["value"], present))
        except (MjrigError, _Structural) as error:
            edits.unrepeated[path] = str(error)
            continue
        chosen = [
            PropertyEdit(int(entry["step"]), *v) for v in values if not _is_gain(component, v)
        ]
        if isinstance(component, ArticulationController):
            edits.laws += chosen
        elif isinstance(component, PlantComponent):
            edits.plant += chosen
    return edits


class _Structural(Exception):
    """An edit after which a component is another one."""


def _values(
    owner: HasProperties, name: str, value: Any, present: dict[int, Mapping[str, Any]]
) -> Iterator[tuple[HasProperties, str, Any]]:
    """What an edit sets: the value of a property, or those of the parts nested in it.

    Args:
        owner: of the property.
        name: of the property.
        value: as recorded.
        present: data of nested parts after the edits before this one, by id; updated.
    """
    prop = owner.property_named(name)
    if not prop.nests:
        if prop.structural or name == "enabled":
            raise _Structural("it was changed during the recording")
        yield owner, name, value
        return
    is_list = isinstance(value, list)
    entries = value if is_list else [value]
    now = [child for child in owner.children() if child.role.partition("[")[0] == name]
    if len(now) != len(entries) or not all(isinstance(entry, dict) for entry in entries):
        raise _Structural("parts were added or removed during the recording")
    for part, entry in zip(now, entries, strict=True):
        data = present.get(id(part), part.to_data())
        if entry.get("type", data.get("type")) != data.get("type"):
            raise _Structural("parts were replaced during the recording")
        present[id(part)] = {"type": data.get("type"), **entry}
        changed = [k for k in data | entry if k != "type" and entry.get(k) != data.get(k)]
        # First what is no longer authored: of some properties only one may be.
        for key in sorted(changed, key=lambda k: entry.get(k) is not None):
            yield from _values(part, key, entry.get(key), present)


def _is_gain(component: HasProperties, edit: tuple[HasProperties, str, Any]) -> bool:
    """Whether an edit is of a gain, which is recorded for each actuator."""
    owner, name, _ = edit
    if not isinstance(component, ArticulationController) or name not in component.gains():
        return False
    return owner is component or owner.role == "law"


def _entries(recording: Recording, pair: Match) -> Iterator[Mapping[str, Any]]:
    """Entries of the log that are about this robot."""
    name = pair.recorded.name
    roles = [component.role for component in pair.robot.components]
    for entry in recording.attributes.get("edits", ()):
        labels = entry.get("components", {}).get(name, ())
        is_changed = any(label.partition(".")[2] not in roles for label in labels)
        if is_changed or str(entry.get("path", "")).startswith(f"{name}."):
            yield entry


# Players ------------------------------------------------------------------------------------------
# Play a recording in a world: its poses, or its setpoints through the controllers here.


NEVER = np.iinfo(np.int64).max


class KinematicPlayer(CheckedAttributes):
    """Shows the poses of a recording; nothing is simulated, and other robots are left alone.

    Positions are interpolated between samples, quaternions on the great circle.
    """

    matches: Final[tuple[Match, ...]]
    notes: Final[tuple[str, ...]]

    def __init__(self, recording: Recording, world: World, *, robot: str = "") -> None:
        self._world = world
        self.matches = match(recording, world, robot)
        self.notes = tuple(n for m in self.matches for n in m.notes)
        self._began = min(float(m.recorded.time[0]) for m in self.matches)
        self._ended = max(float(m.recorded.time[-1]) for m in self.matches)

    @property
    def duration(self) -> float:
        """From the first pose to the last [s]."""
        return self._ended - self._began

    def seek(self, t: float) -> None:
        """Show the pose `t` seconds after the first; before and after it, the first and last."""
        data = self._world.data
        for pair in self.matches:
            recorded = pair.recorded
            pose = interpolate(recorded.joints, recorded.time, recorded.qpos, self._began + t)
            pair.qpos(pose, data.qpos)
            for _, here in pair.joints:
                data.qvel[here.dof] = 0.0
            if recorded.qvel is not None:
                pair.qvel(_lerp(recorded.time, recorded.qvel, self._began + t), data.qvel)
        mujoco.mj_forward(self._world.model, data)


def interpolate(
    joints: Sequence[JointColumns], time: FloatArray, qpos: FloatArray, t: float
) -> FloatArray:
    """The pose at a time: linear, quaternions by slerp."""
    pose = _lerp(time, qpos, t)
    row, share = _place(time, t)
    for joint in joints:
        if joint.kind in ("free", "ball"):
            at = slice(joint.qpos.stop - 4, joint.qpos.stop)
            following = min(row + 1, len(time) - 1)
            pose[at] = slerp(qpos[row, at], qpos[following, at], share)
    return pose


def _place(time: FloatArray, t: float) -> tuple[int, float]:
    """The sample before a time, and how far it is towards the next."""
    row = int(np.clip(np.searchsorted(time, t, side="right") - 1, 0, len(time) - 1))
    if row == len(time) - 1 or t <= time[0]:
        return row, 0.0
    return row, float((t - time[row]) / (time[row + 1] - time[row]))


def _lerp(time: FloatArray, values: FloatArray, t: float) -> FloatArray:
    row, share = _place(time, t)
    if share == 0.0:
        found: FloatArray = values[row].copy()
        return found
    mixed: FloatArray = (1.0 - share) * values[row] + share * values[row + 1]
    return mixed


def slerp(a: FloatArray, b: FloatArray, share: float) -> FloatArray:
    """Between two unit quaternions on the shorter great circle."""
    cosine = float(a @ b)
    if cosine < 0.0:
        b, cosine = -b, -cosine
    if share == 0.0:
        return a.copy()
    if cosine > 0.9995:  # too close for the sine; the chord is as good
        mixed = (1.0 - share) * a + share * b
    else:
        angle = np.arccos(cosine)
        mixed = (np.sin((1.0 - share) * angle) * a + np.sin(share * angle) * b) / np.sin(angle)
    found: FloatArray = mixed / np.linalg.norm(mixed)
    return found


class RecordedTargets(ActorComponent):
    """Writes the recorded setpoints of one robot, step by step, and changes its gains with them."""

    _remembered: ClassVar[tuple[str, ...]] = ("_next_step",)

    def play(
        self, world: World, pair: Match, ratio: float = 1.0, edits: RecordedEdits | None = None
    ) -> Self:
        """Play a recording; `ratio` is the number of steps here per recorded step."""
        edits = edits or RecordedEdits()
        commands = pair.recorded.commands
        assert commands is not None
        first = int(pair.recorded.step[0])
        there, self._here = pair.commanded()
        rows = np.stack([commands.position, commands.velocity, commands.feedforward])
        self._rows = rows[:, :, there]
        self._starts = np.round((commands.step - first) * ratio).astype(np.int64)
        self._edit, self._edits, self._plant_edits = (
            PlantEdit(world, pair.robot) for _ in range(3)
        )
        gains = [(c.step, partial(self._set_gains, c.gains)) for c in pair.recorded.gain_changes]
        laws = [(e.step, partial(self._repeat, self._edits, e)) for e in edits.laws]
        plant = [(e.step, partial(self._repeat, self._plant_edits, e)) for e in edits.plant]
        self._changes, self._plant = (
            [(round((step - first) * ratio), change) for step, change in changes]
            for changes in (sorted([*laws, *gains], key=itemgetter(0)), plant)
        )
        self._pair = pair
        self._names = pair.robot.actuator_names
        self._inputs = [
            (pair.robot.setpoints.input_values[name], values)
            for name, values in commands.inputs.items()
            if name in pair.robot.setpoints.input_values
        ]
        self._lease: Lease | None = None
        self.seek(0)
        return self

    def prepare(self) -> None:
        self._step, self._row, self._change, self._next = 0, -1, 0, NEVER
        self._plant_change, self._plant_next = 0, NEVER

    def attach(self, articulation: Any) -> None:
        names = [articulation.actuator_names[i] for i in self._here]
        if names:
            pattern = "|".join(map(literal, names))
            self._lease = articulation.take(
                Source.REPLAY, actuators=pattern, holder=f"replay of {self._pair.recorded.name}"
            )
        self._values = articulation.setpoints.values

    def detach(self) -> None:
        self._undo()
        self._plant_edits.undo()
        if self._lease is not None:
            self._lease.release()

    def seek(self, step: int) -> None:
        """The next physics step is step `step` of the recording."""
        if sum(start <= step for start, _ in self._changes) != self._change:
            self._undo()
            self._change = 0
        self._step, self._row, self._next = step, -1, step
        if sum(start <= step for start, _ in self._plant) != self._plant_change:
            self._plant_edits.undo()
            self._plant_change = 0
        self._change_plant()

    def before_controls(self, time: float) -> None:
        if self._step >= self._next:
            self._apply()
        self._step += 1
        if self._step >= self._plant_next:  # components of the plant run before this one
            self._change_plant()

    def _change_plant(self) -> None:
        """Repeat edits of the plant that precede the next step."""
        due = [change for start, change in self._plant if start <= self._step]
        for change in due[self._plant_change :]:
            change()
        self._plant_change = len(due)
        self._plant_next = min((s for s, _ in self._plant[len(due) :]), default=NEVER)

    def _apply(self) -> None:
        """A command or a change of gains falls on this step, or we have just jumped here."""
        row = int(np.searchsorted(self._starts, self._step, side="right")) - 1
        if row >= 0 and row != self._row:
            self._row = row
            self._values[:, self._here] = self._rows[:, row]
            for vector, values in self._inputs:
                vector[:] = values[row]
        while self._change < len(self._changes) and self._changes[self._change][0] <= self._step:
            self._changes[self._change][1]()
            self._change += 1
        following = [int(self._starts[row + 1])] if row + 1 < len(self._starts) else []
        following += [s for s, _ in self._changes[self._change : self._change + 1]]
        self._next = min(following, default=NEVER)

    def _undo(self) -> None:
        self._edit.undo()
        self._edits.undo()

    @staticmethod
    def _repeat(edits: PlantEdit, edit: PropertyEdit) -> None:
        edits.assign(edit.owner, edit.name, edit.value)

    def _set_gains(self, gains: Mapping[str, FloatArray] | None) -> None:
        self._edit.undo()
        for what, values in (gains or {}).items():
            named = {
                self._names[column]: float(v)
                for column, v in zip(self._pair.columns.tolist(), values, strict=True)
                if column >= 0 and np.isfinite(v)
            }
            self._edit.set_gains(what, named)

    def remembers(self) -> bool:
        return False  # everything it commands is in the recording

    @property
    def _next_step(self) -> int:
        return self._step

    @_next_step.setter
    def _next_step(self, step: int) -> None:
        self.seek(step)


class TargetsPlayer(CheckedAttributes):
    """Plays recorded setpoints through the controllers of a world, as it is stepped.

    While it is open, gaits and policies of the robots it plays are off, and commands of other
    components are ignored. Use it in a `with` block,
    or `close` it; then everything is as before, except the state.
    """

    matches: Final[tuple[Match, ...]]
    ratio: Final[float]
    notes: Final[tuple[str, ...]]
    steps: Final[int]
    silenced: Final[tuple[str, ...]]
    #: Components without `enabled` that tried to command a robot; grows while it plays.
    overruled: Final[list[str]]
    #: Live edits of the recording that are not repeated, and why.
    unrepeated: dict[str, str]

    def __init__(
        self,
        recording: Recording,
        world: World,
        *,
        robot: str = "",
        resample: bool = False,
    ) -> None:
        self._world, self._recording = world, recording
        self.matches = match(recording, world, robot)
        self.ratio = check_playable(recording, self.matches, world, resample=resample)
        notes = [n for m in self.matches for n in m.notes]
        steps = playable_steps(recording)
        if steps < recording.steps:
            notes.append(
                f"the state was reset after {steps * recording.timestep:g} s of "
                f"{recording.duration:g} s: only the time before that is replayed"
            )
        self.notes = tuple(notes)
        self.steps = round(steps * self.ratio)
        self.unrepeated = {}
        self._playing: list[tuple[Match, RecordedTargets]] = []
        self._stack = ExitStack()
        robots = [m.robot for m in self.matches]
        self.silenced = tuple(self._stack.enter_context(silenced(robots)))
        self.overruled = self._stack.enter_context(overruled(robots))
        try:
            for pair in driven(self.matches):
                edits = recorded_edits(recording, pair)
                self.unrepeated |= edits.unrepeated
                component = RecordedTargets().play(world, pair, self.ratio, edits)
                pair.robot.add_component(component)
                self._playing.append((pair, component))
        except BaseException:
            self.close()
            raise

    def start(self) -> RecordedStart:
        """Put the robots into the initial recorded state, with the memory of their components."""
        started = start(self._world, self._recording, self.matches)
        self.seek(0)
        return started

    def seek(self, step: int) -> None:
        """Command from step `step` on; the state is left as it is."""
        for _, component in self._playing:
            component.seek(step)

    @property
    def duration(self) -> float:
        """Simulated seconds."""
        return self.steps * self._world.timestep

    def close(self) -> None:
        """Undo everything; closing twice is allowed."""
        while self._playing:
            pair, component = self._playing.pop()
            pair.robot.remove_component(component)
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def playable_steps(recording: Recording) -> int:
    """Steps until the recorded state was reset or rewound."""
    later = [s for s in recording.segments if 0 < s < recording.steps]
    return min(later, default=recording.steps)


def driven(matches: Sequence[Match]) -> list[Match]:
    """Robots with actuators; a ball on the floor has no setpoints, and needs none."""
    return [pair for pair in matches if pair.recorded.actuators]


def check_playable(
    recording: Recording, matches: Sequence[Match], world: World, *, resample: bool
) -> float:
    """Steps here per recorded step, before anything runs.

    Raises:
        RecordingError: there are no setpoints, or the timestep differs.
    """
    for pair in driven(matches) or matches[:1]:
        if pair.recorded.commands is None:
            raise RecordingError(
                f"{recording.path}: no setpoints of {pair.recorded.name!r} were recorded; "
                "replay it in the mode kinematic"
            )
        if not pair.recorded.actuators:
            raise RecordingError(
                f"{recording.path}: {pair.recorded.name!r} has no actuators; replay it in the mode "
                "kinematic"
            )
        if not (pair.columns >= 0).any():
            raise RecordingError(
                f"{recording.path}: none of the actuators of {pair.recorded.name!r} is here"
            )
    there, here = recording.timestep, world.timestep
    ratio = there / here
    if abs(there - here) <= 1e-9 * there:
        return 1.0
    if not resample:
        raise RecordingError(
            f"{recording.path}: was recorded with a timestep of {there:g} s, the world has "
            f"{here:g} s; set sim.timestep to {there:g}" + phrase("resample")
        )
    if max(ratio, 1.0 / ratio) % 1.0 > 1e-6 and 1.0 - max(ratio, 1.0 / ratio) % 1.0 > 1e-6:
        raise RecordingError(
            f"{recording.path}: its timestep of {there:g} s is no multiple of the world's "
            f"{here:g} s, nor the other way round: setpoints would not fall on steps"
        )
    return ratio
