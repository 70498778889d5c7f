"""Matching recorded robots to robots of the world, joint by joint, by name."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.control.actor_in_world import base_address
from mjrig.core.control.articulation import Articulation
from mjrig.core.errors import RecordingError
from mjrig.core.model.binding import DOF_SIZE, QPOS_SIZE
from mjrig.core.names import how_many, listed, suggestion
from mjrig.core.sim.world import World
from mjrig.data.recording.recording import ActorRecording, JointColumns, Recording

KINDS = {0: "free", 1: "ball", 2: "slide", 3: "hinge"}
#: Suffixes of joint names that stacks add or leave out.
_ENDINGS = ("_joint", "_actuator", "_act", "_motor")
Indices = npt.NDArray[np.intp]


@dataclass(frozen=True)
class JointHere:
    """One joint of the world: local name, kind and addresses in qpos and qvel."""

    name: str
    kind: str
    qpos: slice
    dof: slice


@dataclass(frozen=True)
class Match:
    """A recorded robot and the matching robot here.

    `joints` pairs recorded and present joints; `columns` are the recorded actuators' places among
    the actuators here, -1 for none. `notes` list what was not matched by its exact name.
    """

    recorded: ActorRecording
    robot: Articulation
    joints: tuple[tuple[JointColumns, JointHere], ...]
    columns: Indices
    notes: tuple[str, ...] = ()

    @property
    def single(self) -> list[tuple[JointColumns, JointHere]]:
        """The hinges and slides."""
        return [(a, b) for a, b in self.joints if b.kind in ("hinge", "slide")]

    @property
    def base(self) -> tuple[JointColumns, JointHere] | None:
        """The floating base here, where it was recorded."""
        address = base_address(self.robot)
        return next(((a, b) for a, b in self.joints if b.qpos.start == address), None)

    def commanded(self) -> tuple[Indices, Indices]:
        """Columns of the recording that are actuators here, and which."""
        there = np.flatnonzero(self.columns >= 0)
        return there, self.columns[there]

    def qpos(self, row: FloatArray, out: FloatArray) -> None:
        """Put a recorded row of positions where the world keeps them."""
        for recorded, here in self.joints:
            out[here.qpos] = row[recorded.qpos]

    def qvel(self, row: FloatArray, out: FloatArray) -> None:
        """Put a recorded row of velocities where the world keeps them."""
        for recorded, here in self.joints:
            out[here.dof] = row[recorded.dof]


def match(recording: Recording, world: World, robot: str = "") -> tuple[Match, ...]:
    """Pair every recorded robot with one of the world; the names of the robots come first.

    Args:
        recording: the recording.
        world: where it is replayed.
        robot: robot of the world that alone is paired, with the recorded robot of its name or the
            one most like it; empty: all are.

    Raises:
        RecordingError: a recorded robot matches none here; the message gives the reason.
    """
    if not recording.actors:
        raise RecordingError(f"{recording.path}: it contains no robot")
    empty = [actor.name for actor in recording.actors.values() if not len(actor.step)]
    if empty:
        raise RecordingError(f"{recording.path}: it has no rows of {empty[0]!r}")
    if robot:
        return (_match_one(recording, world, world[robot]),)
    free, found = dict(world.articulations), []
    for actor in recording.actors.values():
        candidates = [free[actor.name]] if actor.name in free else list(free.values())
        tried = [match_robot(world, actor, r) for r in candidates]
        if not tried:
            raise RecordingError(
                f"{recording.path}: {actor.name!r} was recorded, but every robot of the world "
                "is taken by another one"
            )
        best = max(tried, key=lambda m: (len(m.joints), -len(m.robot.joint_names)))
        _check_identity(recording, actor, best)
        check_units(recording, best)
        del free[best.robot.name]
        found.append(best)
    return tuple(found)


def _match_one(recording: Recording, world: World, robot: Articulation) -> Match:
    """A robot with the recorded one of its name, or with the one that most joints are alike of."""
    actors = recording.actors
    chosen = [actors[robot.name]] if robot.name in actors else list(actors.values())
    tried = [match_robot(world, actor, robot) for actor in chosen]
    best = max(tried, key=lambda m: (len(m.joints), -len(m.recorded.joints)))
    _check_identity(recording, best.recorded, best)
    check_units(recording, best)
    return best


def _check_identity(recording: Recording, actor: ActorRecording, best: Match) -> None:
    """Refuse a different robot: at least half of its joints, and all driven ones, must be here."""
    here = best.robot
    names = [j.name for j in actor.joints if j.kind != "free"]
    matched = {a.name for a, _ in best.joints}
    missing = [n for n in names if n not in matched]
    driven = [n for n in actor.driven if n in missing]
    if not missing or (not driven and len(missing) * 2 <= len(names)):
        return
    if len(missing) * 2 <= len(names):
        raise RecordingError(
            f"{recording.path}: {here.name!r} has no {missing[0]!r}, which is a joint of the "
            "recording (a log's joints have the names that its log.yaml gives them); "
            f"{suggestion(missing[0], here.joint_names)}"
        )
    loose = [n for n in here.joint_names if n not in {b.name for _, b in best.joints}]
    raise RecordingError(
        f"{recording.path}: the recorded {actor.name!r} is another robot than {here.name!r} here: "
        f"{len(names) - len(missing)} of its {how_many(len(names), 'joint')} are here, "
        f"missing: {listed(missing)}; here without a match: {listed(loose)}"
    )


def check_units(recording: Recording, pair: Match) -> None:
    """Refuse slides that were read in units of angles, and hinges in units of lengths.

    Raises:
        RecordingError: names the joints, their unit and what to write instead.
    """
    for kind, right, units in (("slide", "a length", "m"), ("hinge", "an angle", "rad")):
        wrong = {a.name: a.unit for a, b in pair.joints if a.unit and b.kind == kind != a.kind}
        if wrong:
            are = f"are {kind}s" if len(wrong) > 1 else f"is a {kind}"
            raise RecordingError(
                f"{recording.path}: {listed(wrong)} {are} in the scene, and read in "
                f"{listed(dict.fromkeys(wrong.values()))}, which is not {right}: give each its "
                f"unit in its log.yaml (joints: {{"
                f"{next(iter(wrong))}: {{id: …, kind: {kind}, unit: {units}}}}})"
            )


def match_robot(world: World, actor: ActorRecording, robot: Articulation) -> Match:
    """Pair joints and actuators of one robot by exact name, else by an unambiguous ending."""
    here = joints_of(world, robot)
    recorded = {j.name: j for j in actor.joints if j.kind != "free"}
    present = {j.name: j for j in here if j.kind != "free"}
    names = pair_names(recorded, present)
    pairs = [
        (recorded[a], present[b])
        for a, b in names.items()
        if _size(recorded[a]) == _size(present[b])
    ]
    pairs += _pair_free(actor.joints, here)
    pairs.sort(key=lambda pair: pair[1].qpos.start)
    notes = [f"{a!r} is matched to {b!r} here" for a, b in names.items() if a != b]
    columns, more = _pair_actuators(actor, robot, names)
    return Match(actor, robot, tuple(pairs), columns, (*notes, *more))


def _size(joint: JointColumns | JointHere) -> int:
    return int(joint.qpos.stop) - int(joint.qpos.start)


def _pair_free(
    recorded: Sequence[JointColumns], here: Sequence[JointHere]
) -> list[tuple[JointColumns, JointHere]]:
    """Free joints by name, the rest in order if their number agrees: many have no name."""
    there = [j for j in recorded if j.kind == "free"]
    present = [j for j in here if j.kind == "free"]
    exact = {j.name: j for j in present}
    pairs = [(j, exact[j.name]) for j in there if j.name in exact]
    rest = [j for j in there if j.name not in exact]
    left = [j for j in present if j.name not in {a.name for a, _ in pairs}]
    return pairs + (list(zip(rest, left, strict=True)) if len(rest) == len(left) else [])


def base_joint(world: World, robot: Articulation) -> JointHere | None:
    """The joint of a robot's floating base; None: it is fixed."""
    address = base_address(robot)
    return next((j for j in joints_of(world, robot) if j.qpos.start == address), None)


def joints_of(world: World, robot: Articulation) -> list[JointHere]:
    """The joints of a robot, in the order of the model."""
    model, found = world.model, []
    for name, i in zip(robot.joint_names, robot.model_map.joint_ids, strict=True):
        kind, qpos, dof = (
            int(model.jnt_type[i]),
            int(model.jnt_qposadr[i]),
            int(model.jnt_dofadr[i]),
        )
        at = slice(qpos, qpos + QPOS_SIZE[kind]), slice(dof, dof + DOF_SIZE[kind])
        found.append(JointHere(name, KINDS[kind], *at))
    return found


def _pair_actuators(
    actor: ActorRecording, robot: Articulation, joints: Mapping[str, str]
) -> tuple[Indices, list[str]]:
    """The column here of every recorded actuator: by its joint, else by its own name."""
    by_joint: dict[str, list[int]] = {}
    by_name: dict[str, int] = {}
    bindings = {b.actuator: b for b in robot.actuators}
    for column, name in enumerate(robot.actuator_names):
        by_name[name] = column
        if bindings[name].joint:
            by_joint.setdefault(bindings[name].joint, []).append(column)
    found, notes = [], []
    names = pair_names(actor.actuators, by_name)
    for i, name in enumerate(actor.actuators):
        joint = joints.get(actor.driven[i] if i < len(actor.driven) else "", "")
        drives = by_joint.get(joint, [])
        if name in by_name and (not drives or by_name[name] in drives):
            found.append(by_name[name])
        elif len(drives) == 1:
            found.append(drives[0])
        elif name in names:
            found.append(by_name[names[name]])
        else:
            found.append(-1)
            notes.append(f"the recorded actuator {name!r} is not here: its setpoints are left out")
    return np.array(found, dtype=np.intp), notes


def pair_names(there: Iterable[str], here: Iterable[str]) -> dict[str, str]:
    """Names → names: the same, else without endings and case, else by an ending of one.

    A pair is made only if it is the only one possible, on both sides.
    """
    left, right = list(there), list(here)
    found = {n: n for n in left if n in set(right)}
    for same in (_alike, _ends_alike):
        open_left = [n for n in left if n not in found]
        open_right = [n for n in right if n not in set(found.values())]
        options = {a: [b for b in open_right if same(a, b)] for a in open_left}
        taken = [b for bs in options.values() for b in bs]
        for a, bs in options.items():
            if len(bs) == 1 and taken.count(bs[0]) == 1:
                found[a] = bs[0]
    return found


def _core(name: str) -> str:
    name = name.rpartition("/")[2].lower()
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    return name


def _alike(a: str, b: str) -> bool:
    return bool(a) and bool(b) and _core(a) == _core(b)


def _ends_alike(a: str, b: str) -> bool:
    """Whether one ends in the other at a word's boundary: `robot_left_knee`, `left_knee`."""
    a, b = _core(a), _core(b)
    return bool(a) and bool(b) and (a.endswith(f"_{b}") or b.endswith(f"_{a}"))
