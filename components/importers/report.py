"""Pre-flight report of an import, as text and as data."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from mjrig.check.finding import counted, lines_of
from mjrig.components.importers.importing import Imported
from mjrig.components.importers.sources.found import ValueOrder
from mjrig.components.importers.writing import timing
from mjrig.terminal.table import format_table

JOINTS = ("", "joint", "actuator", "kind", "default", "scale", "kp", "kv", "limit", "enforced by",
          "h·kv/M")  # fmt: skip
TERMS = ("term", "size", "scale", "history", "values")


def report(imported: Imported) -> str:
    """Joints, observation, rate and findings."""
    found, robot = imported.found, imported.robot
    how = {ValueOrder.NAMES: "by name", ValueOrder.INDEX: "by place", ValueOrder.MOTORS: "by motor"}
    lines = [
        f"{found.stack}: {', '.join(imported.source.files)} on {robot.label}",
        f"{found.count} joints, matched {how[found.order]}; {len(imported.matched.extra)} more in "
        "the model",
        *("  " + line for line in format_table(JOINTS, list(_joints(imported)))),
        f"observation: {found.observation_size} values{_takes(imported)}",
        *("  " + line for line in format_table(TERMS, list(_terms(imported)))),
        _rate(imported),
        f"findings: {counted(imported.findings)}",
        *lines_of(imported.findings),
    ]
    return "\n".join(lines)


def _rate(imported: Imported) -> str:
    found = imported.found
    timestep, decimation = timing(found, imported.robot)
    where = "inside of" if found.phase == "inside" else found.phase
    return (
        f"rate: {timestep:g} s × {decimation} = {found.tick:g} s ({1.0 / found.tick:g} Hz), "
        f"ticks {where} the step"
    )


def report_data(imported: Imported) -> dict[str, Any]:
    """The same as plain data, for JSON."""
    found = imported.found
    timestep, decimation = timing(found, imported.robot)
    return {
        "stack": found.stack,
        "files": imported.source.files,
        "model": imported.robot.label,
        "scene": str(imported.scene),
        "policy": str(imported.policy),
        "joints": [
            dict(zip(("index", *JOINTS[1:]), row, strict=True)) for row in _joints(imported)
        ],
        "aliases": imported.matched.aliases,
        "extra": list(imported.matched.extra),
        "observation": [{**term.data, "size": term.length} for term in found.terms],
        "observation_size": found.observation_size,
        "network_input": _width(imported),
        "timestep": timestep,
        "decimation": decimation,
        "phase": found.phase,
        "findings": [finding.data() for finding in imported.findings],
    }


def _width(imported: Imported) -> int | None:
    network = imported.source.network
    return network.width(network.observation) if network else None


def _takes(imported: Imported) -> str:
    width = _width(imported)
    return "" if width is None else f", the network takes {width}"


def _joints(imported: Imported) -> Iterator[tuple[str, ...]]:
    found, robot = imported.found, imported.robot
    timestep, _ = timing(found, robot)
    pose = dict(zip(imported.matched.joints, found.default, strict=True))
    inertias = robot.inertias(pose)
    for i, joint in enumerate(imported.matched.joints):
        binding = robot.actuator_of(joint)
        limit, place = robot.limit(joint)
        kv = found.kv[i] if found.kv is not None else None
        yield (
            str(i),
            joint,
            binding.actuator,
            binding.kind,
            f"{found.default[i]:g}",
            _at(found.action.get("scale", 1.0), i),
            _at(found.kp, i),
            _at(found.kv, i),
            f"{limit:g}" if math.isfinite(limit) else "",
            place,
            "" if kv is None or robot.is_servo else f"{timestep * kv / inertias[joint]:.2f}",
        )


def _at(values: Any, index: int) -> str:
    if values is None:
        return ""
    return f"{values[index] if isinstance(values, Sequence) else values:g}"


def _terms(imported: Imported) -> Iterator[tuple[str, ...]]:
    for term in imported.found.terms:
        scale = term.data.get("scale", 1.0)
        text = f"{scale:g}" if isinstance(scale, float | int) else "per value"
        yield (term.data["type"], str(term.size), text, str(term.history), str(term.length))
