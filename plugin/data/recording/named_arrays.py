"""A recording as plain data and named arrays, which all file formats but the recorder's hold."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mjrig.core.errors import RecordingError
from mjrig.data.recording.checks import (
    check_increasing,
    number_column,
    positive,
    required,
    step_column,
)
from mjrig.data.recording.component_memory import (
    LINES,
    VALUES,
    StoredMemory,
    decode_memories,
    encode_memories,
)
from mjrig.data.recording.h5_reader import SIZES, plant_from
from mjrig.data.recording.h5_writer import VERSION
from mjrig.data.recording.json_values import (
    NUMBER,
    PLANT,
    Shape,
    check_shape,
    from_json,
    plain,
    to_json,
)
from mjrig.data.recording.recording import (
    ActorRecording,
    Efforts,
    GainChange,
    IntegrationStates,
    JointColumns,
    PolicyTicks,
    RecordedCommands,
    Recording,
)

Arrays = dict[str, np.ndarray[Any, Any]]


def meta_of(recording: Recording) -> dict[str, Any]:
    """Everything that is not an array, for JSON."""
    return {
        "version": VERSION,
        "timestep": recording.timestep,
        "steps": recording.steps,
        "segments": list(recording.segments),
        "source": recording.format,
        "notes": list(recording.notes),
        "attributes": plain(dict(recording.attributes)),
        "actors": {name: _actor_meta(actor) for name, actor in recording.actors.items()},
    }


def _actor_meta(actor: ActorRecording) -> dict[str, Any]:
    plant = actor.plant
    return {
        "joints": [[joint.name, joint.kind] for joint in actor.joints],
        "actuators": list(actor.actuators),
        "driven": list(actor.driven),
        "plant": plain(
            {
                "overall": dict(plant.overall),
                "joints": {key: dict(values) for key, values in plant.joints.items()},
                "recovered": list(plant.recovered),
                "enforced": dict(plant.enforced),
            }
        ),
        "policy_joints": list(actor.policy.joints) if actor.policy else [],
        "gain_changes": [
            {
                "step": change.step,
                "gains": None
                if change.gains is None
                else {name: to_json(values) for name, values in change.gains.items()},
            }
            for change in actor.gain_changes
        ],
    }


def arrays_of(recording: Recording) -> Arrays:
    """All arrays by name: `<actor>/qpos`, `<actor>/setpoint/position`, …"""
    arrays: Arrays = {}
    if recording.states is not None:
        arrays["states/step"] = recording.states.step
        arrays["states/state"] = recording.states.state
    for name, actor in recording.actors.items():
        parts: dict[str, Any] = {n: getattr(actor, n) for n in _STATE}
        if (commands := actor.commands) is not None:
            parts["setpoint/step"] = commands.step
            parts |= {f"setpoint/{n}": getattr(commands, n) for n in _SETPOINT}
            parts |= {f"setpoint/inputs/{n}": values for n, values in commands.inputs.items()}
        if (efforts := actor.efforts) is not None:
            parts |= {"effort/step": efforts.step, "effort": efforts.effort}
            parts["raw_effort"] = efforts.raw
        if (policy := actor.policy) is not None:
            parts |= {f"policy/{n}": getattr(policy, n) for n in _POLICY}
        arrays |= {f"{name}/{part}": a for part, a in parts.items() if a is not None}
    return arrays | encode_memories(recording.memories)


_STATE = ("step", "time", "qpos", "qvel", "act", "ctrl")
_SETPOINT = ("position", "velocity", "feedforward")
_POLICY = ("step", "observation", "action", "command")


#: Everything that is not an array, as `meta_of` gives it.
META_SHAPE: Shape = {
    "steps": int,
    "timestep": float,
    "segments?": [int],
    "notes?": [str],
    "attributes?": {str: object},
    "actors": {
        str: {
            "joints": [(str, str)],
            "actuators": [str],
            "driven": [str],
            "plant?": PLANT,
            "policy_joints?": [str],
            "gain_changes?": [{"step": int, "gains": dict | None}],
        }
    },
}


def recording_of(
    path: Path, kind: str, meta: Mapping[str, Any], arrays: Mapping[str, Any]
) -> Recording:
    """The reverse of `meta_of` and `arrays_of`.

    Raises:
        RecordingError: something is missing, has the wrong shape or is not numeric.
    """
    check_shape(path, "the metadata", meta, META_SHAPE)
    count = meta["steps"]
    if count < 0:
        raise RecordingError(f"{path}: steps: must be a whole number >= 0, got {count!r}")
    actors = {
        name: _actor(path, name, facts, arrays, count) for name, facts in meta["actors"].items()
    }
    states = None
    if "states/step" in arrays and "states/state" in arrays:
        states = _states(path, arrays["states/step"], arrays["states/state"], count)
    memories: tuple[StoredMemory, ...] = ()
    if LINES in arrays and VALUES in arrays:
        memories = decode_memories(path, arrays[LINES], arrays[VALUES], count)
    return Recording(
        path=path,
        format=kind,
        timestep=positive(path, "timestep", required(path, meta, "timestep")),
        steps=count,
        actors=actors,
        states=states,
        attributes=dict(meta.get("attributes", {})),
        notes=tuple(meta.get("notes", ())),
        segments=tuple(meta.get("segments", (0,))),
        memories=memories,
    )


def _states(path: Path, step: Any, state: Any, count: int) -> IntegrationStates:
    steps = step_column(path, "states/step", step)
    check_increasing(path, "states/step", steps, count)
    width = state.shape[1] if state.ndim == 2 else 1
    values = number_column(path, "states/state", state, width)
    _same_rows(path, "states/state", values, "states/step", steps)
    return IntegrationStates(steps, values)


def joint_columns(path: Path, joints: list[list[str]]) -> tuple[JointColumns, ...]:
    """Consecutive columns for joints given as (name, kind)."""
    found: list[JointColumns] = []
    q = v = 0
    for name, kind in joints:
        if kind not in SIZES:
            raise RecordingError(f"{path}: joint {name!r}: {kind!r} is not a joint type")
        nq, nv = SIZES[kind]
        found.append(JointColumns(name, kind, slice(q, q + nq), slice(v, v + nv)))
        q, v = q + nq, v + nv
    return tuple(found)


def _actor(
    path: Path, name: str, facts: Mapping[str, Any], arrays: Mapping[str, Any], count: int
) -> ActorRecording:
    def column(part: str, width: int | None, *, finite: bool = True) -> Any:
        key = f"{name}/{part}"
        return number_column(path, key, required(path, arrays, key), width, finite=finite)

    def wide(part: str, *, finite: bool = True) -> Any:
        """Columns of any width."""
        values = np.asarray(required(path, arrays, f"{name}/{part}"))
        return column(part, values.shape[1] if values.ndim == 2 else 1, finite=finite)

    def steps(part: str) -> Any:
        key = f"{name}/{part}"
        numbers = step_column(path, key, required(path, arrays, key))
        check_increasing(path, key, numbers, count)
        return numbers

    def has(part: str) -> bool:
        return f"{name}/{part}" in arrays

    joints = joint_columns(path, facts["joints"])
    nq, nv = (joints[-1].qpos.stop, joints[-1].dof.stop) if joints else (0, 0)
    size = len(facts["actuators"])
    commands = efforts = policy = None
    if has("setpoint/step"):
        inside = f"{name}/setpoint/inputs/"
        inputs = {k.removeprefix(inside): a for k, a in arrays.items() if k.startswith(inside)}
        position, velocity, feedforward = (column(f"setpoint/{n}", size) for n in _SETPOINT)
        commands = RecordedCommands(steps("setpoint/step"), position, velocity, feedforward, inputs)
    if has("effort/step"):
        raw = column("raw_effort", size, finite=False) if has("raw_effort") else None
        efforts = Efforts(steps("effort/step"), column("effort", size), raw)
    if has("policy/step"):
        # The output of a network may be non-finite; it is kept so that it can be found.
        observation, action = (
            wide(f"policy/{n}", finite=False).astype(np.float32) for n in ("observation", "action")
        )
        command = wide("policy/command")
        names = tuple(facts.get("policy_joints", ()))
        policy = PolicyTicks(steps("policy/step"), observation, action, command, names)
    made = ActorRecording(
        name=name,
        joints=joints,
        step=steps("step"),
        time=column("time", None),
        qpos=column("qpos", nq),
        qvel=column("qvel", nv) if has("qvel") else None,
        actuators=tuple(facts["actuators"]),
        driven=tuple(facts["driven"]),
        commands=commands,
        efforts=efforts,
        policy=policy,
        plant=plant_from(facts.get("plant", {})),
        gain_changes=tuple(_change(path, name, entry) for entry in facts.get("gain_changes", ())),
        act=wide("act") if has("act") else None,
        ctrl=wide("ctrl") if has("ctrl") else None,
    )
    _check_lengths(path, made)
    return made


def _check_lengths(path: Path, actor: ActorRecording) -> None:
    groups: list[tuple[str, Any, list[tuple[str, Any]]]] = [
        ("step", actor.step, [(n, getattr(actor, n)) for n in ("time", "qpos", "qvel", "act")])
    ]
    if (c := actor.commands) is not None:
        groups.append(
            ("setpoint/step", c.step, [(f"setpoint/{n}", getattr(c, n)) for n in _SETPOINT])
        )
    if (e := actor.efforts) is not None:
        groups.append(("effort/step", e.step, [("effort", e.effort), ("raw_effort", e.raw)]))
    if (p := actor.policy) is not None:
        groups.append(("policy/step", p.step, [(f"policy/{n}", getattr(p, n)) for n in _POLICY]))
    for step, rows, columns in groups:
        for name, column in columns:
            if column is not None:
                _same_rows(path, f"{actor.name}/{name}", column, f"{actor.name}/{step}", rows)


def _same_rows(path: Path, name: str, column: Any, step: str, rows: Any) -> None:
    if len(column) != len(rows):
        raise RecordingError(f"{path}: {name}: has {len(column)} rows, but {step} {len(rows)}")


def _change(path: Path, actor: str, entry: Mapping[str, Any]) -> GainChange:
    gains = entry["gains"]
    check_shape(path, f"gain_changes of {actor}", gains or {}, {str: [NUMBER]})
    values = None if gains is None else {n: from_json(v) for n, v in gains.items()}
    return GainChange(int(entry["step"]), values)
