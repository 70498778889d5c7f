"""Import of policies of other stacks: scene.yaml and policy.yaml with a report."""

import math
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mjrig.components.importers.preflight import about_probes, findings
from mjrig.components.importers.sources.joint_matching import ImportCase, match
from mjrig.components.importers.sources.overrides import Overrides
from mjrig.components.importers.sources.policy_description import Begin, FoundPolicy, ValueOrder
from mjrig.components.importers.sources.robot import ACTOR, Robot
from mjrig.components.importers.sources.source import (
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
    write_policy,
)
from mjrig.components.policies.policy_file import PolicyFile
from mjrig.core.errors import BindingError, SceneError, option, phrase
from mjrig.core.files.atomic_writes import write_atomically
from mjrig.core.findings import Finding, Level, note
from mjrig.core.names import suggestion
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.lab.findings.ranking import arrange
from mjrig.lab.report.content import Report, ReportColumn, ReportTable, words
from mjrig.lab.report.finding_section import finding_section, finding_verdict

# Importing ----------------------------------------------------------------------------------------

POLICY = "policy.yaml"
#: Name of the network in a policy that is not complete and came without one.
UNNAMED = "policy.onnx"


class RefusedError(BindingError):
    """The pre-flight found errors; nothing was written. `imported` has the findings."""

    imported: "Imported"


@dataclass(frozen=True)
class Imported(ImportCase):
    """An import and its pre-flight findings."""

    scene: Path
    policy: Path
    findings: Sequence[Finding]


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
    given = [Path(p) for p in (*configs, *([network] if network else []))]
    files, unnamed = expanded(given)
    for path in files:
        refuse_weights(path)  # before the model is built
    source = open_files(files, None, Robot(Path(model)), overrides or Overrides())
    source.unnamed = tuple(unnamed)
    found = stack_named(recognised(source, stack)).read(source)
    found = _overridden(found, source.robot, source.overrides)
    if source.network is None and not found.gap:
        raise SceneError("there is no network: give the .onnx or .pt file last")
    matched = match(found, source.robot)
    seen = findings(ImportCase(source, found, matched))
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
        seen = arrange([*seen, *about_probes(imported, scene, policy)])
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
        case = replace(imported, found=_with_relative_files(imported.found, scene.parent))
        write_policy(policy, case, named)
        data = scene_data(case, relative(source.robot.path, scene.parent))
        write_atomically(scene, text_of(data, head_of(case)))
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


# Overrides --------------------------------------------------------------------------------------

#: As a keyframe: the model's own pose.
NONE = "none"


def _overridden(found: FoundPolicy, robot: Robot, overrides: Overrides) -> FoundPolicy:
    """The policy with the user's values; notes list what was replaced.

    Raises:
        SceneError: a list of the wrong length, or a keyframe the model does not have.
    """
    changes: dict[str, Any] = {}
    notes = []
    if overrides.joints:
        if len(overrides.joints) != found.count:
            raise SceneError(
                option("joints") + f" has {len(overrides.joints)} names, the policy {found.count}"
            )
        changes |= {"names": overrides.joints, "motors": ()}
        notes.append("joints are those of --joints")
    if overrides.scale:
        changes["action"] = {**found.action, "scale": _each("scale", overrides.scale, found.count)}
        notes.append("the action scale is that of --scale")
    if overrides.default:
        changes |= _with_default(found, robot, overrides)
        notes.append("the default pose is that of --default")
    if overrides.keyframe:
        changes |= _with_keyframe(robot, overrides.keyframe)
        notes.append("the start is that of --keyframe")
    if overrides.rate is not None:
        changes |= _with_rate(found, overrides.rate)
        notes.append("the rate is that of --rate")
    if not changes:
        return found
    return replace(found, **changes, notes=(*found.notes, *notes))


def _each(flag: str, values: Sequence[float], count: int) -> list[float]:
    if len(values) not in (1, count):
        raise SceneError(option(flag) + f" has {len(values)} values, needs 1 or {count}")
    return [*values] * count if len(values) == 1 else [*values]


def _with_default(found: FoundPolicy, robot: Robot, overrides: Overrides) -> dict[str, Any]:
    """The default pose; an offset that was the old one follows it."""
    if isinstance(overrides.default, str):
        pose = robot.keyframe_pose(_known(robot, "default", overrides.default))
        joints = overrides.joints or found.names or _places(found, robot)
        lacking = [j for j in joints if j not in pose]
        if lacking:
            raise SceneError(
                option("default", overrides.default) + f": the keyframe has no joint {lacking[0]!r}"
            )
        values = [pose[j] for j in joints]
    else:
        values = _each("default", overrides.default, found.count)
    offset = found.action.get("offset")
    action = dict(found.action)
    if offset is not None and not isinstance(offset, str) and [*offset] == [*found.default]:
        action["offset"] = values
    if overrides.scale:
        action["scale"] = _each("scale", overrides.scale, found.count)
    return {"default": values, "action": action}


def _places(found: FoundPolicy, robot: Robot) -> list[str]:
    """The joints by place, as matching finds them."""
    motors = robot.joints if found.order is ValueOrder.INDEX else robot.motors
    places = found.motors or range(found.count)
    return [motors[i] for i in places if i < len(motors)]


def _with_keyframe(robot: Robot, name: str) -> dict[str, Any]:
    if name == NONE:
        return {"begin": Begin.RESET, "keyframe": "", "base": None}
    return {"begin": Begin.KEYFRAME, "keyframe": _known(robot, "keyframe", name), "base": None}


def _known(robot: Robot, flag: str, name: str) -> str:
    names = robot.articulation.keyframes
    if name not in names:
        hint = suggestion(name, names) if names else "the model has none"
        raise SceneError(option(flag, name) + f": there is no such keyframe; {hint}")
    return name


def _with_rate(found: FoundPolicy, rate: float) -> dict[str, Any]:
    """Another tick; a timestep that does not divide it is no longer the policy's."""
    tick = 1.0 / rate
    timestep = found.timestep
    if timestep is not None and abs(tick / timestep - round(tick / timestep)) > 1e-6:
        timestep = None
    return {"tick": tick, "timestep": timestep}


# Report -------------------------------------------------------------------------------------------

JOINTS = ("", "joint", "actuator", "kind", "default", "scale", "kp", "kv", "limit", "enforced by",
          "h·kv/M")  # fmt: skip
#: Columns of words.
WORDS = ("joint", "actuator", "kind", "enforced by")
TERMS = ("term", "size", "scale", "history", "values")


def described(imported: Imported, written: bool = True) -> Report:
    """Joints, observation, rate and findings; `written`: the files were written."""
    found, robot = imported.found, imported.robot
    how = {ValueOrder.NAMES: "by name", ValueOrder.INDEX: "by place", ValueOrder.MOTORS: "by motor"}
    verdict, tone = finding_verdict(imported.findings)
    extra = f"{len(imported.matched.extra)} more in the model"
    return Report(
        f"{found.stack} policy on {robot.label}",
        verdict,
        tone,
        [("files", ", ".join(imported.source.files)), ("rate", _rate(imported))],
        [
            ReportTable(
                title=f"{found.count} joints, matched {how[found.order]}; {extra}",
                columns=[ReportColumn(name, is_words=name in WORDS) for name in JOINTS],
                rows=list(_joints(imported)),
            ),
            ReportTable(
                title=f"observation: {found.observation_size} values{_takes(imported)}",
                columns=[*words(TERMS[0]), *map(ReportColumn, TERMS[1:])],
                rows=list(_terms(imported)),
            ),
            finding_section(imported.findings),
        ],
        {**report_data(imported), "written": written},
    )


def _rate(imported: Imported) -> str:
    found = imported.found
    timestep, decimation = imported.timing
    where = "inside of" if found.phase == "inside" else found.phase
    return (
        f"{timestep:g} s × {decimation} = {found.tick:g} s ({1.0 / found.tick:g} Hz), "
        f"ticks {where} the step"
    )


def report_data(imported: Imported) -> dict[str, Any]:
    """The same as plain data, for JSON."""
    found = imported.found
    timestep, decimation = imported.timing
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
    timestep, _ = imported.timing
    inertias = robot.inertias(imported.pose)
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
