"""Import of policies of other stacks: scene.yaml and policy.yaml with a report."""

import math
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mjrig.components.importers.preflight import PreflightCase, about_probes, findings
from mjrig.components.importers.sources.joint_matching import Matched, match
from mjrig.components.importers.sources.overrides import Overrides, overridden
from mjrig.components.importers.sources.policy_description import FoundPolicy, ValueOrder
from mjrig.components.importers.sources.robot import ACTOR, Robot
from mjrig.components.importers.sources.source import (
    PolicySource,
    expanded,
    open_files,
    refuse_weights,
)
from mjrig.components.importers.stack_registry import recognised, stack_named
from mjrig.components.importers.yaml_writer import (
    head_of,
    motion_of,
    relative,
    scene_data,
    text_of,
    timing,
    write_policy,
)
from mjrig.components.policies.policy_file import PolicyFile
from mjrig.core.errors import BindingError, SceneError, phrase
from mjrig.core.files.atomic_writes import write_atomically
from mjrig.core.findings import Finding, Level, note
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.lab.findings.ranking import arrange, count_by_severity
from mjrig.lab.findings.ranking import lines as finding_lines
from mjrig.lab.report.output import format_table

# Importing ----------------------------------------------------------------------------------------
# Import of policies of other stacks: scene.yaml and policy.yaml from their files and a model.


POLICY = "policy.yaml"
#: Name of the network in a policy that is not complete and came without one.
UNNAMED = "policy.onnx"


class RefusedError(BindingError):
    """The pre-flight found errors; nothing was written. `imported` has the findings."""

    imported: "Imported"


@dataclass(frozen=True)
class Imported:
    """An import and its pre-flight findings."""

    source: PolicySource
    found: FoundPolicy
    matched: Matched
    scene: Path
    policy: Path
    findings: Sequence[Finding]

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self.source.robot


def import_policy(
    configs: Sequence[str | Path],
    network: str | Path | None,
    model: str | Path,
    output: str | Path,
    *,
    stack: str = "",
    copy: bool = False,
    overwrite: bool = False,
    overrides: Overrides | None = None,
    probe: bool = False,
) -> Imported:
    """Write scene.yaml and policy.yaml for the policy described by these files.

    Args:
        configs: configuration files of one stack; a network may be among them.
        network: the network, where it is not among them.
        model: robot model.
        output: the scene to write; policy.yaml goes beside it.
        stack: name of the stack; empty: recognised by the contents of the files.
        copy: copy the network beside them; else it is referenced in place.
        overwrite: replace existing files.
        overrides: what replaces the values of the files, and guesses.
        probe: also run it for a few seconds with other joint orders, and report a better one.

    Raises:
        RefusedError: the pre-flight found errors.
        BindingError: the model is of another robot.
        SceneError: a file is missing or wrong, or an output file is there already.
    """
    scene = Path(output)
    policy = scene.with_name(POLICY)
    _check_outputs(scene, policy, overwrite)
    said = overrides or Overrides()
    given = [Path(p) for p in (*configs, *([network] if network else []))]
    files, unnamed = expanded(given)
    for path in files:
        refuse_weights(path)  # before the model is built
    source = open_files(files, None, Robot(Path(model)), said)
    source.unnamed = tuple(unnamed)
    found = stack_named(recognised(source, stack)).read(source)
    found = overridden(found, source.robot, source.said)
    if source.network is None and not found.gap:
        raise SceneError("there is no network: give the .onnx or .pt file last")
    matched = match(found, source.robot)
    seen = findings(PreflightCase(source, found, matched))
    imported = Imported(source, found, matched, scene, policy, seen)
    errors = [f for f in seen if f.severity is Level.ERROR]
    if errors:
        refused = RefusedError(str(errors[0]))
        refused.imported = imported
        raise refused
    try:
        _write(imported, copy=copy)
    except OSError as problem:
        why = problem.strerror or problem
        raise SceneError(f"{scene}: cannot be written: {why}") from problem
    runs = source.network is not None and source.network.onnx is not None and not found.gap
    if probe and runs:
        seen = arrange([*seen, *about_probes(found, source.robot, scene, policy)])
    else:
        form = "not-judged" if runs or found.gap else "not-judged torchscript"
        seen = arrange([*seen, note("not-judged", ACTOR, form=form)])
    return replace(imported, findings=seen)


def _check_outputs(scene: Path, policy: Path, overwrite: bool) -> None:
    if scene.suffix not in (".yaml", ".yml"):
        raise SceneError(f"{scene}: a scene is a .yaml file")
    if scene.name == POLICY:
        raise SceneError(f"{scene}: that is the policy's name; call the scene scene.yaml")
    if not scene.parent.is_dir() and scene.parent.exists():
        raise SceneError(f"{scene.parent}: is not a folder")
    for path in (scene, policy, motion_of(policy)):
        if path.exists() and not overwrite:
            raise SceneError(f"{path}: exists already; " + phrase("overwrite"))


def _write(imported: Imported, *, copy: bool) -> None:
    """Write both files and try them; a failure leaves no files behind."""
    source, scene, policy = imported.source, imported.scene, imported.policy
    network = source.network
    paths = network.paths if network is not None else []
    named = paths[0].name if paths else UNNAMED
    if paths and not copy:
        named = relative(paths[0], scene.parent)
    copied = {path: scene.parent / path.name for path in paths if copy}
    with _or_nothing([scene, policy, motion_of(policy), *copied.values()]):
        for path, there in copied.items():
            if there.resolve() != path.resolve():
                shutil.copyfile(path, there)
        found = _with_relative_files(imported.found, scene.parent)
        parts = found, imported.matched, source.robot
        write_policy(policy, *parts, source, named)
        model = relative(source.robot.path, scene.parent)
        data = scene_data(*parts, model, source.said.height)
        write_atomically(scene, text_of(data, head_of(imported.found, source)))
        PolicyFile.load(policy)
        written = Scene.load(scene)
        if network is None or network.onnx is not None or find_spec("torch") is not None:
            World(written)


def _with_relative_files(found: FoundPolicy, folder: Path) -> FoundPolicy:
    """Networks of actuators as a scene in a folder names them."""
    if not found.controllers:
        return found
    named = [
        {**law, "path": relative(Path(law["path"]), folder)} if "path" in law else law
        for law in found.controllers
    ]
    return replace(found, controllers=named)


@contextmanager
def _or_nothing(paths: Sequence[Path]) -> Iterator[None]:
    """Files are written completely, or left unchanged."""
    folder = paths[0].parent
    made = [p for p in (folder, *folder.parents) if not p.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    before = {path: path.read_bytes() if path.exists() else None for path in paths}
    try:
        yield
    except BaseException:
        for path, content in before.items():
            if content is None:
                path.unlink(missing_ok=True)
            else:
                path.write_bytes(content)
        for folder in made:
            folder.rmdir()
        raise


# Report -------------------------------------------------------------------------------------------
# Pre-flight report of an import, as text and as data.


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
        f"findings: {count_by_severity(imported.findings)}",
        *finding_lines(imported.findings),
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
