"""Cases of rewinds: a component, one setting of the engine, and the rest drawn at random."""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
import yaml

import mjrig
from mjrig.core.control.policy import PolicyComponent
from mjrig.core.errors import ExecutionError, MjrigError, PropertyError
from mjrig.core.properties import registry
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.scene.mujoco_options import FLAGS, SimOptions
from mjrig.core.sim.world import Snapshot
from mjrig.data.recording.component_memory import decode_memories, encode_memories
from mjrig.data.recording.recorder import stored_memory
from tests.components.executions.rewind_subjects import SLEEPING, Data, Subject

Array = npt.NDArray[np.float64]
Rows = list[dict[str, Array]]

QUANTITIES = ("ctrl", "qfrc_actuator", "qacc", "qacc_warmstart")
EFFORTS_OF = ("effort", "raw_effort", "applied_effort")
#: Quantities with another meaning where MuJoCo computes the law.
INTERNAL = ("act", "ctrl")
#: How often clamps acted: MuJoCo's own are only counted when somebody looks.
COUNTS = "times clamped by "
#: Properties that act at a reset or as a command: an edit after the reset is another one.
AT_RESET = ("seed", "choice", "enabled")

EXECUTIONS = ("python", "compiled", "native", "auto")
EFFORTS = ("explicit", "implicit")
#: Options of the engine that are not flags.
OPTIONS: Mapping[str, Sequence[Any]] = {
    "integrator": SimOptions.property_named("integrator").choices,  # type: ignore[attr-defined]
    "cone": SimOptions.property_named("cone").choices,  # type: ignore[attr-defined]
    "jacobian": SimOptions.property_named("jacobian").choices,  # type: ignore[attr-defined]
    "solver": SimOptions.property_named("solver").choices,  # type: ignore[attr-defined]
    "noslip_iterations": (2,),
    "iterations": (1, 3),
    "sleep_tolerance": (0.1,),
    "actuation": ("implicit",),
}


def settings() -> list[tuple[str, Any]]:
    """Every value of every dimension; a flag has the value that is not MuJoCo's own."""
    flags = [(n, "enable" if f == "enableflags" else "disable") for n, (f, _) in FLAGS.items()]
    options = [(name, value) for name, values in OPTIONS.items() for value in values]
    modes = [("execution", e) for e in EXECUTIONS] + [("effort", e) for e in EFFORTS]
    return [*flags, *options, *modes]


@dataclass
class RewindCase:
    """A scene, how it is run, and a live edit.

    Attributes:
        data: of the scene, as it is built first.
        execution: of its world.
        seed: of the setpoints and the numbers of steps.
        edit: where a value is changed live, its property, and the value; None: there is none.
        notes: reasons why something could not be compared.
    """

    data: Data
    execution: str
    seed: int
    edit: tuple[tuple[str | int, ...], str, Any] | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def is_refused(self) -> bool:
        """Whether no world could be built, so that nothing was compared."""
        return any(note.startswith("refused:") for note in self.notes)

    def __str__(self) -> str:
        components = [a.get("components") or a.get("prop") for a in self.data["actors"]]
        return f"{self.execution} {self.data['sim']} edit {self.edit}: {components}"

    def edited(self) -> Data:
        """The data of a scene that is authored with the value of the edit."""
        data = deepcopy(self.data)
        if self.edit is not None:
            place, name, new = self.edit
            actor = next(a for a in data["actors"] if a["name"] == place[0])
            part: Any = actor
            for key in place[1:]:
                part = part[key]
            part[name] = new
        return data


def draw_case(
    subject: Subject, setting: tuple[str, Any], rng: Random, *, alone: bool = False
) -> RewindCase:
    """The subject with this setting; some others are drawn, unless it is to be alone."""
    drawn: dict[str, Any] = {"execution": rng.choice(EXECUTIONS)}
    for name, value in rng.sample(settings(), rng.choice((0, 1, 2, 4))):
        drawn[name] = value
    if alone:
        drawn = {"execution": "auto"}
    drawn[setting[0]] = setting[1]
    if drawn.get("ipc") == "enable" and setting[0] != "integrator":
        drawn["integrator"] = "discrete"  # MuJoCo requires it
    execution, effort = drawn.pop("execution"), drawn.pop("effort", None)
    data = deepcopy(subject.scene(drawn))
    if drawn.get("sleep") == "enable":
        data["actors"].append(dict(SLEEPING))
    for actor in data["actors"]:
        for component in actor.get("components", ()):
            if effort is not None and component["type"].endswith("Controller"):
                component["effort"] = effort
    return RewindCase(data, execution, rng.randrange(1 << 30), _draw_edit(subject, rng))


def _draw_edit(subject: Subject, rng: Random) -> tuple[tuple[str | int, ...], str, Any] | None:
    """A property of the component and another value of it."""
    if not subject.place:
        return None
    candidates = editable(subject)
    if not candidates:
        return None
    chosen = rng.choice(candidates)
    return subject.place, chosen.name, values_of(chosen, rng)


def editable(subject: Subject) -> list[Any]:
    """The properties of the component that a file has."""
    properties = registry.get(subject.edits or subject.name, HasProperties).properties()
    return [p for p in properties if p.stored]


def values_of(prop: Any, rng: Random) -> Any:
    """Another value of a property, which need not fit."""
    return _VALUES[prop.kind](prop, rng)


def _number(prop: Any, rng: Random) -> float:
    low, high = getattr(prop, "min", None), getattr(prop, "max", None)
    low = 0.0 if low is None or not np.isfinite(low) else float(low)
    high = low + 5.0 if high is None or not np.isfinite(high) else min(float(high), low + 5.0)
    return round(rng.uniform(low + 0.1 * (high - low), high), 3)


_VALUES: Mapping[str, Any] = {
    "float": _number,
    "per_actuator": _number,
    "optional_float": _number,
    "int": lambda prop, rng: max(1, round(_number(prop, rng))),
    "bool": lambda prop, rng: not prop.default,
    "choice": lambda prop, rng: rng.choice([str(c) for c in prop.choices]),
    "patterns": lambda prop, rng: rng.choice(("hip", ["knee"], "hip|knee", ".*", "nonsense")),
    "vector": lambda prop, rng: sorted(rng.choices(range(6), k=len(prop.default))),
    "samples": lambda prop, rng: rng.choice(([], [0.3], [-0.5, 0.2, 0.9])),
    "text": lambda prop, rng: rng.choice(("", "move", "stand", "nonsense")),
    "path": lambda prop, rng: rng.choice(_FILES),
    "table": lambda prop, rng: rng.choice(({}, {"model_type": "lstm"})),
    "component": lambda prop, rng: deepcopy(rng.choice(_PARTS[prop.name])),
    "components": lambda prop, rng: deepcopy(rng.choice(_PARTS[prop.name])),
}
_FILES = ("policy.yaml", "moving.yaml", "mlp.onnx", "lstm.onnx", "gru.onnx", "absent.onnx")
_LIMITS: Sequence[Data] = (
    {"type": "MaxEffort", "max_effort": 0.4},
    {"type": "DCMotor", "saturation_effort": 2.0, "velocity_limit": 5.0, "max_effort": 0.9},
)
_PARTS: Mapping[str, Sequence[Any]] = {
    "delay": (None, {"steps": 1}, {"steps": 5}, {"steps": {"hip": 2, "default": 6}}),
    "clamps": ([], [_LIMITS[0]], [_LIMITS[1]], list(_LIMITS)),
    "law": (None, {"type": "PD", "kp": 9, "kv": 0.2}, {"type": "PID", "kp": 9, "ki": 8}),
    "options": ([{"name": "move", "file": "moving.yaml"}], [{"name": "move", "file": "mlp.onnx"}]),
}


# Worlds -----------------------------------------------------------------------------------------


def build(data: Data, folder: Path, execution: str) -> mjrig.World:
    """A world of the data of a scene."""
    return mjrig.World(mjrig.Scene.parse(yaml.safe_dump(data), base=folder), execution)


def apply_edit(case: RewindCase, world: mjrig.World) -> bool:
    """Make the edit in a running world; False: it was refused, with an error."""
    if case.edit is None:
        return True
    place, name, new = case.edit
    part: Any = world[str(place[0])]
    for key in place[1:]:
        part = part[key] if isinstance(key, int) else getattr(part, key)
    try:
        part.assign({name: new})
    except MjrigError:
        return False
    return True


def run(world: mjrig.World, seed: int, first: int, count: int) -> Rows:
    """Everything that can be seen of a world after each of some steps, in blocks of 1 to 4."""
    rows: Rows = [at_rest(world)]
    step = first
    while step < first + count:
        _command(world, seed, step)
        block = min(1 + (seed + step) % 4, first + count - step)
        world.step(block)
        step += block
        rows.append(visible(world))
    return rows


def _command(world: mjrig.World, seed: int, step: int) -> None:
    """New setpoints, depending on the step alone; they stay the same now and then."""
    if (seed + step) % 5 == 0:
        return
    for robot in world.articulations.values():
        if robot.actuator_names and not _is_commanded(robot):
            phase = 0.15 * step + seed % 7 + np.arange(len(robot.actuator_names))
            robot.setpoints.position[:] = 0.5 * np.sin(phase)
            robot.setpoints.velocity[:] = 0.6 * np.cos(1.3 * phase)
            robot.setpoints.feedforward[:] = 0.3 * np.sin(0.7 * phase)


def _is_commanded(robot: mjrig.Articulation) -> bool:
    names = {type(component).__name__ for component in robot.components}
    return bool(names & {"Policy", "PolicySwitch", "TrotGait"})


def visible(world: mjrig.World) -> dict[str, Array]:
    """State, activations, controls, sensors, efforts, and what components show of themselves."""
    values = {name: np.array(getattr(world.data, name)) for name in QUANTITIES}
    return values | at_rest(world)


def at_rest(world: mjrig.World) -> dict[str, Array]:
    """The same without what MuJoCo computes again when a state is restored."""
    data = world.data
    values = {name: np.array(getattr(data, name)) for name in ("time", "qpos", "qvel", "act")}
    values |= {"sensordata": data.sensordata.copy(), "forces": data.actuator_force.copy()}
    values["frictionloss"] = world.model.dof_frictionloss.copy()
    for robot in world.articulations.values():
        if robot.actuator_names:
            values |= {f"{robot.name} {name}": getattr(robot, name).copy() for name in EFFORTS_OF}
            values[f"{robot.name} setpoints"] = robot.setpoints.position.copy()
        for component in robot.components:
            if isinstance(component, PolicyComponent) and vars(component)["enabled"]:
                values[f"{component.label} observation"] = component.observation.copy()
            for name, counts in getattr(component, "clamp_counts", {}).items():
                values[f"{COUNTS}{component.label} {name}"] = np.array(counts)
    return values


def through_a_file(world: mjrig.World, snapshot: Snapshot) -> Snapshot:
    """The snapshot as a recording stores it: JSON and named arrays, read back."""
    columns = encode_memories([stored_memory(world, 0)])
    lines, values = columns.values()
    (memory,) = decode_memories(Path("memory"), lines, values, 0)
    assert not memory.unknown, memory.unknown
    actors = {}
    for name, robot in world.articulations.items():
        stored = [memory.part(f"{name}.{c._role}") for c in robot.components]
        actors[name] = {
            **memory.part(name),
            "owned": [part[0] for part in stored],
            "signatures": [part[1] for part in stored],
            "components": [part[2] for part in stored],
        }
    return replace(snapshot, actors=actors, **memory.part(""))


# Properties -------------------------------------------------------------------------------------


def differences(case: RewindCase, folder: Path) -> Iterator[str]:
    """What is not bit-equal in a case; nothing where it was refused."""
    lead, tail = 3 + case.seed % 40, 12
    try:
        world = build(case.data, folder, case.execution)
    except MjrigError as error:
        case.notes.append(f"refused: {error}")
        return
    world.reset()  # as a random delay is drawn again at every reset
    fresh = run(world, case.seed, 0, lead)
    yield from _rewinds(world, case.seed, lead, tail)
    again = build(case.data, folder, case.execution)
    run(again, case.seed + 1, 0, tail)
    again.reset()
    if difference := _difference(run(again, case.seed, 0, lead), fresh, world):
        yield f"a reset differs from a new world: {difference}"
    if case.edit is not None:
        yield from _edits(case, (world, again), folder, (lead, tail), fresh)


def _rewinds(world: mjrig.World, seed: int, lead: int, tail: int) -> Iterator[str]:
    snapshot = world.snapshot()
    first = run(world, seed, lead, tail)
    for between in ("nothing", "a reset", "a keyframe"):
        if between != "nothing":
            keyframes = [k for r in world.articulations.values() for k in r.keyframes]
            world.reset(keyframes[0] if between == "a keyframe" and keyframes else None)
            world.step(2)
        world.restore(snapshot)
        if difference := _difference(run(world, seed, lead, tail), first, world):
            yield f"a rewind over {between}: {difference}"


def _edits(
    case: RewindCase,
    worlds: tuple[mjrig.World, mjrig.World],
    folder: Path,
    steps: tuple[int, int],
    unedited: Rows,
) -> Iterator[str]:
    """A live edit, before the first step and later, against a scene authored with the value."""
    early, world = worlds
    early.reset()
    start = early.snapshot()
    early.step(2)
    early.restore(start)
    is_refused = not apply_edit(case, early)
    if not apply_edit(case, world):
        case.notes.append("the edit was refused")
        for refused in worlds if not _draws_delays(case.data) else ():
            refused.reset()
            if difference := _difference(run(refused, case.seed, 0, steps[0]), unedited, refused):
                yield f"an edit that was refused had an effect: {difference}"
        return
    other = _authored(case, folder)
    if other is None:
        yield "the value was accepted live, but not in a scene"
        return
    if is_refused:
        yield "an edit was refused before the first step and accepted later"
        return
    other.reset()
    fresh = run(other, case.seed, 0, steps[0])
    if world.execution == other.execution and world.model.na == other.model.na:
        yield from _carried(case, other, world, steps)
    world.reset()
    if _draws_delays(case.edited()) or _draws_delays(case.data):
        return  # the world has been reset more often than the other
    if difference := _difference(run(world, case.seed, 0, steps[0]), fresh, world, other):
        yield f"a live edit and a reset differ from the value authored: {difference}"
    if case.edit is not None and case.edit[1] in AT_RESET:
        return
    if difference := _difference(run(early, case.seed, 0, steps[0]), fresh, early, other):
        yield f"a live edit before the first step differs from the value authored: {difference}"


def _authored(case: RewindCase, folder: Path) -> mjrig.World | None:
    """The world of a scene with the value; where native cannot run it, the one `auto` chooses."""
    for execution in (case.execution, "auto"):
        try:
            return build(case.edited(), folder, execution)
        except ExecutionError:
            continue
        except MjrigError as error:
            case.notes.append(f"refused in a scene: {error}")
            break
    return None


def _carried(
    case: RewindCase, other: mjrig.World, world: mjrig.World, steps: tuple[int, int]
) -> Iterator[str]:
    """A world authored with the value goes on as the one in which it was edited."""
    snapshot = world.snapshot()
    stored = through_a_file(world, snapshot)
    after = run(world, case.seed, *steps)
    try:
        other.restore(stored)
    except PropertyError as error:
        case.notes.append(f"not carried: {error}")
        return
    if difference := _difference(run(other, case.seed, *steps), after, world, other):
        yield f"another world does not go on from the stored memory: {difference}"


def _draws_delays(data: Data) -> bool:
    return "'random'" in str(data)


def _difference(rows: Rows, expected: Rows, *worlds: mjrig.World) -> str:
    """The first quantity that differs; of two worlds, of what does not depend on the execution."""
    is_same = len({(w.execution, w.model.na, w.model.nu) for w in worlds}) == 1
    for step, (one, two) in enumerate(zip(rows, expected, strict=True)):
        for name, values in one.items():
            if not is_same and (name in INTERNAL or name.startswith(COUNTS)):
                continue
            if not np.array_equal(values, two[name], equal_nan=True):
                return f"{name} in row {step}: {values} for {two[name]}"
    return ""
