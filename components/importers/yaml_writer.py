"""Text of policy.yaml and scene.yaml of an import."""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np

from mjrig.components.importers.sources.joint_matching import ImportCase, Matched
from mjrig.components.importers.sources.policy_description import Begin, FoundPolicy, Held, compact
from mjrig.components.importers.sources.robot import ACTOR, Robot
from mjrig.components.importers.sources.source import PolicySource
from mjrig.components.laws.pipeline_arrays import Precision
from mjrig.core.files.atomic_writes import write_atomically
from mjrig.core.scene.scene_text import FORMAT
from mjrig.core.yaml_text.formatting import format_flow, format_inside_flow

#: Longest line of a file.
WIDTH = 100

# policy.yaml ------------------------------------------------------------------------------------


def head_of(case: ImportCase) -> str:
    """The comment on top of what is written."""
    return f"Imported from {case.found.stack}: {', '.join(case.source.files)}."


def motion_of(policy: Path) -> Path:
    """Where the reference motion of a policy file is written, if the import has one."""
    return policy.with_name(f"{policy.stem}_motion.npz")


def write_policy(path: Path, case: ImportCase, network: str) -> None:
    """Write policy.yaml, and the motion beside it; `network` is how it names the network.

    Raises:
        OSError: it cannot be written.
    """
    data, found = policy_data(case, network), case.found
    motion_of(path).unlink(missing_ok=True)  # of an import that this one replaces
    if found.motion:
        np.savez_compressed(motion_of(path), allow_pickle=False, **found.motion)
        data["motion"] = {"file": motion_of(path).name, **data["motion"]}
    elif data.get("motion", {}).get("file"):
        data["motion"]["file"] = relative(Path(data["motion"]["file"]), path.parent)
    write_atomically(path, text_of(data, head_of(case)))


def policy_data(case: ImportCase, network: str) -> Any:
    """The content of policy.yaml; `network` is how it names the network."""
    found, matched, source = case.found, case.matched, case.source
    timestep, decimation = case.timing
    observation: dict[str, Any] = {}
    if found.clip is not None:
        observation["clip"] = found.clip
    if found.history and (any(t.history > 1 for t in found.terms) or "ticks" in found.history):
        observation["history"] = _history(found)
    observation["terms"] = [_term(t.data, matched, found) for t in found.terms]
    data: dict[str, Any] = {
        "network": network,
        "joints": list(matched.joints),
        "aliases": matched.aliases,
        "timestep": timestep,
        "decimation": decimation,
        "phase": found.phase,
        "state": found.state,
        "default": [float(v) for v in found.default],
        "observed": {joint: float(v) for joint, v in found.observed.items()},
        "start": _start(found),
        "observation": observation,
        "action": _action(case),
        "command": dict(found.command),
        "recurrent": source.network.recurrent() if source.network else {},
        **_network(source),
        **found.network,
        "trained": _trained(found),
        "source": _source(case),
    }
    return {key: value for key, value in data.items() if value not in ({}, None, "")}


def _network(source: PolicySource) -> dict[str, Any]:
    """Input and output names, where there are several."""
    net = source.network
    if net is None or len(net.inputs) + len(net.outputs) < 3:
        return {}
    return {"input": net.observation, "output": net.action}


def _history(found: FoundPolicy) -> dict[str, Any]:
    lengths = {t.history for t in found.terms}
    together = {"length": lengths.pop()} if len(lengths) == 1 else {}
    return {**together, **found.history}


def _term(data: Mapping[str, Any], matched: Matched, found: FoundPolicy) -> dict[str, Any]:
    """Names of joints in a term are the model's; one length for all stands at the top."""
    term = dict(data)
    if "zero" in term:
        term["zero"] = [matched.aliases.get(n, n) for n in term["zero"]]
    if len({t.history for t in found.terms}) == 1:
        term.pop("history", None)
    return term


def _start(found: FoundPolicy) -> dict[str, Any]:
    if found.start is not None:
        return {
            "duration": found.start.duration,
            "kp": compact(found.start.kp),
            "kv": compact(found.start.kv),
            "target": "default",
        }
    return {"target": "default"} if found.phase == "after" else {}


def _action(case: ImportCase) -> dict[str, Any]:
    found = case.found
    action = dict(found.action)
    for key in ("scale", "offset"):
        if isinstance(action.get(key), Sequence) and not isinstance(action[key], str):
            action[key] = compact(action[key])
    offset = found.action.get("offset")
    if offset is not None and not isinstance(offset, str) and [*offset] == [*found.default]:
        del action["offset"]  # the default pose
    for key in ("clip", "clip_target"):
        if isinstance(action.get(key), list) and isinstance(action[key][0], list):
            action[key] = [compact(side) for side in action[key]]
    targets = {
        j: k for j, k in zip(case.matched.joints, found.kinds, strict=False) if k != "position"
    }
    return {**action, "targets": targets} if targets else action


def _trained(found: FoundPolicy) -> dict[str, Any]:
    values: dict[str, Any] = {"kp": found.kp, "kv": found.kv, **found.trained}
    trained: dict[str, Any] = {key: compact(v) for key, v in values.items() if v is not None}
    if found.recovered:
        trained["recovered"] = list(found.recovered)
    return trained


def _source(case: ImportCase) -> dict[str, Any]:
    found = case.found
    notes = [*found.notes, *(f"assumed: {text}" for text in found.assumed)]
    return {"stack": found.stack, "files": case.source.files, "notes": notes}


# scene.yaml -------------------------------------------------------------------------------------


def scene_data(case: ImportCase, model: str) -> dict[str, Any]:
    """The content of scene.yaml; `model` is how it names the model."""
    found, height = case.found, case.source.overrides.height
    timestep, _ = case.timing
    actor: dict[str, Any] = {"name": ACTOR, "model": model}
    pose = {**found.observed, **case.pose}
    pose |= {joint: held.position for joint, held in _held(case)}
    if found.begin is Begin.KEYFRAME:
        actor["keyframe"] = found.keyframe
    elif found.begin is Begin.DEFAULT:
        actor["joints"] = _as_held(found, pose)
    body = _base(found, case.robot, pose, height)
    if body:
        actor["free_bodies"] = [body]
    actor |= found.actor
    policy = [] if found.gap else [{"type": "Policy", "file": "policy.yaml"}]
    actor["components"] = [*_controller(case), *policy]
    return {"mjrig": FORMAT, "sim": {**found.sim, "timestep": timestep}, "actors": [actor]}


def _as_held(found: FoundPolicy, pose: Mapping[str, float]) -> dict[str, float]:
    """The start as precise as the default pose: a robot that stands in it then deviates by 0."""
    single = found.action.get("dtype") == Precision.FLOAT32
    return {joint: float(np.float32(v) if single else v) for joint, v in pose.items()}


def _held(case: ImportCase) -> Iterator[tuple[str, Held]]:
    """Joints with motors that the policy does not drive, and how they are held."""
    motors = case.robot.motors
    for held in case.found.held:
        if held.motor < len(motors) and motors[held.motor] in case.matched.extra:
            yield motors[held.motor], held


def _base(
    found: FoundPolicy, robot: Robot, pose: Mapping[str, float], height: float | None
) -> dict[str, Any]:
    """Initial pose of the floating base: from the files, else standing on its feet."""
    if not robot.base:
        return {}
    if height is not None:
        return {"body": robot.base, "position": [0.0, 0.0, height]}
    if found.base is not None:
        position, quaternion = ([float(v) for v in values] for values in found.base)
        return {"body": robot.base, "position": position, "quaternion": quaternion}
    if found.begin is not Begin.DEFAULT:
        return {}
    return {
        "body": robot.base,
        "position": [0.0, 0.0, robot.floor_height(pose)],
        "quaternion": [1.0, 0.0, 0.0, 0.0],
    }


def _controller(case: ImportCase) -> list[dict[str, Any]]:
    """The PD law of the stack; none where the model's own actuators take positions."""
    found = case.found
    if found.controllers is not None:
        return [dict(data) for data in found.controllers]
    if found.kp is None or found.kv is None or case.robot.is_servo:
        return []
    data: dict[str, Any] = {
        "type": "PDController",
        "kp": _gains(case, "kp"),
        "kv": _gains(case, "kv"),
        "torque_limit": _limits(case),
    }
    data |= {"precision": "float32"} if found.single else {"order": "textbook"}
    return [data]


def _gains(case: ImportCase, which: str) -> Any:
    by_joint = case.by_joint([float(v) for v in getattr(case.found, which)])
    by_joint |= {joint: float(getattr(held, which)) for joint, held in _held(case)}
    if len(set(by_joint.values())) == 1 and not case.matched.extra:
        return next(iter(by_joint.values()))
    return by_joint


def _limits(case: ImportCase) -> Any:
    """Effort limits in the code of the stack; else none: the model limits, as for the vendor."""
    if case.found.limits is None:
        return math.inf
    by_joint = case.by_joint([float(v) for v in case.found.limits])
    return {**by_joint, "default": math.inf} if case.matched.extra else by_joint


def text_of(data: Mapping[str, Any], head: str) -> str:
    """YAML with a comment on top; values that fit on one line are not broken."""
    return f"# {head}\n{_block(data, 0)}\n"


def _block(data: Mapping[str, Any], indent: int) -> str:
    pad = " " * indent
    lines = []
    for key, value in data.items():
        flow = f"{pad}{format_flow(key)}: {format_flow(value)}"
        if not isinstance(value, Mapping | list) or not value:
            lines.append(flow)
        elif len(flow) <= WIDTH and not _is_deep(value):
            lines.append(flow)
        elif isinstance(value, Mapping):
            lines.append(f"{pad}{format_flow(key)}:\n{_block(value, indent + 2)}")
        else:
            lines.append(f"{pad}{format_flow(key)}:\n{_items(value, indent + 2)}")
    return "\n".join(lines)


def _is_deep(value: Mapping[str, Any] | Sequence[Any]) -> bool:
    items = value.values() if isinstance(value, Mapping) else value
    return any(isinstance(item, Mapping) for item in items)


def _items(values: Sequence[Any], indent: int) -> str:
    """A list over several lines: filled with short values, else one item per line."""
    pad = " " * indent
    texts = [format_inside_flow(v) for v in values]
    if not _is_deep(values) and all(len(t) < WIDTH // 2 for t in texts):
        lines = wrap(", ".join(texts), WIDTH - indent - 2, break_on_hyphens=False)
        return "\n".join([f"{pad}[", *(f"{pad}  {line}" for line in lines), f"{pad}]"])
    lines = []
    for item in values:
        flow = f"{pad}- {format_flow(item)}"
        block = isinstance(item, Mapping) and (len(flow) > WIDTH or _is_deep(item))
        lines.append(f"{pad}- {_block(item, indent + 2).lstrip()}" if block else flow)
    return "\n".join(lines)


def relative(path: Path, folder: Path) -> str:
    """A path as a file in a folder names it."""
    return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
