"""An exported model as MJCF, with every digit, and the files it needs beside it."""

import ctypes
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from shutil import copyfile
from typing import Any
from xml.etree import ElementTree

import mujoco
import numpy as np

from mjrig.errors import ExecutionError
from mjrig.model_files.model_source import load, model_file
from mjrig.names import unique
from mjrig.scene_edit.actor import Actor
from mjrig.sim.export_states import ExportedState, add_keyframes
from mjrig.sim.lowered_world import LoweredWorld, lowered_controllers
from mjrig.sim.world import World

_NAMED_IN_DEFAULTS = ("material", "mesh", "hfield", "texture")
_LONG_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


#: What must be the same in the file, to the digits that any MuJoCo writes.
_PHYSICS = (
    "body_mass", "body_inertia", "body_ipos", "body_gravcomp", "jnt_range", "jnt_stiffness",
    "dof_armature", "dof_damping", "dof_frictionloss", "geom_friction", "geom_solref",
    "geom_solimp", "geom_margin", "tendon_range", "tendon_stiffness", "tendon_damping",
    "actuator_gainprm", "actuator_biasprm", "actuator_dynprm", "actuator_gear",
    "actuator_forcerange", "actuator_ctrlrange", "actuator_lengthrange", "qpos0",
)  # fmt: skip

#: Attributes that are float32 in MuJoCo.
_COLOURS = ("rgba", "ambient", "diffuse", "specular", "shininess", "haze", "reflectance")


def write_xml(
    world: LoweredWorld, frames: Mapping[str, ExportedState], path: Path, remarks: Sequence[str]
) -> list[str]:
    """Write the model and its files; returns notes."""
    spec = world.built.spec
    for controller in lowered_controllers(world):
        for binding in controller.bindings:
            _put_numbers(spec, world.model, binding.actuator_id)
    # One file has one <compiler>: what those of the models made of inertias is written out.
    spec.compiler.saveinertial = True
    model = add_keyframes(spec, world, frames)
    with _full_precision() as full:
        root = ElementTree.fromstring(spec.to_xml())
    _repair_defaults(root, world)
    _keep_length_ranges(root)
    for file, name in _move_files(root, world, f"{path.stem}_assets").items():
        (path.parent / name).parent.mkdir(exist_ok=True)
        copyfile(file, path.parent / name)
    for element in root.iter():
        for name, value in element.items():
            element.set(name, _shortest(value, np.float32 if name in _COLOURS else float))
    text = ElementTree.tostring(root, encoding="unicode")
    head, end, rest = text.partition(">")
    comments = "".join(f"\n  <!-- mjrig: {r.replace('--', '- -')} -->" for r in remarks)
    path.write_text(f"{head}{end}{comments}{rest}\n", encoding="utf-8")
    _read_back(path, model)
    return [] if full else ["the numbers in this file have six digits: this MuJoCo writes no more"]


def _put_numbers(spec: Any, model: Any, i: int) -> None:
    """Write a lowered actuator's numbers into the spec."""
    actuator = spec.actuator(model.actuator(i).name)
    for name in ("gainprm", "biasprm", "forcelimited", "forcerange", "actlimited", "actrange"):
        setattr(actuator, name, getattr(model, f"actuator_{name}")[i])
    actuator.delay = model.actuator_delay[i]
    first = int(model.actuator_ctrladr[i])
    actuator.ctrllimited = model.actuator_ctrllimited[first]
    actuator.ctrlrange = model.actuator_ctrlrange[first]
    is_pid = int(model.actuator_dyntype[i]) == int(mujoco.mjtDyn.mjDYN_PID)
    if is_pid and model.actuator_gainprm[i, 0] == 0.0:
        # MuJoCo compiles no integral without its gain.
        actuator.dyntype = mujoco.mjtDyn.mjDYN_NONE
        actuator.actearly = False
        actuator.actlimited = False
        actuator.actrange = [0.0, 0.0]


@contextmanager
def _full_precision() -> Iterator[bool]:
    """Let MuJoCo write XML with all digits; False: this MuJoCo has no such switch."""
    libraries = [p for p in Path(mujoco.__file__).parent.glob("*mujoco*") if p.is_file()]
    library: Any = None
    for path in libraries:
        if path.suffix in (".dll", ".dylib") or ".so" in path.name:
            library = ctypes.CDLL(str(path))
    try:
        digits = library._mjPRIVATE__get_xml_precision()
        library._mjPRIVATE__set_xml_precision(17)
    except AttributeError:
        yield False
        return
    try:
        yield True
    finally:
        library._mjPRIVATE__set_xml_precision(digits)


def _shortest(text: str, kind: type[float] | type[np.float32]) -> str:
    """Numbers of 17 digits in the shortest form that parses to the same number."""
    words = text.split(" ")
    return " ".join(str(kind(w)) if len(w) > 15 and _LONG_NUMBER.fullmatch(w) else w for w in words)


def _keep_length_ranges(root: Any) -> None:
    """Let nobody compute the length ranges of actuators anew: they are in the file."""
    compiler = root.find("compiler")
    if compiler is None:
        compiler = ElementTree.Element("compiler")
        root.insert(0, compiler)
    ElementTree.SubElement(compiler, "lengthrange", mode="none")


def _repair_defaults(root: Any, world: World) -> None:
    """Prefix asset names in defaults: attaching a model does so everywhere else."""
    assets = {e.get("name") for e in root.iterfind("asset/*")}
    for where in (robot.model_map for robot in world.articulations.values()):
        for default in root.iter("default"):
            if not default.get("class", "").startswith(where.prefix):
                continue
            for element in default:
                for name in _NAMED_IN_DEFAULTS:
                    full = where.prefix + element.get(name, "")
                    if name in element.attrib and full in assets:
                        element.set(name, full)


def _read_back(path: Path, model: Any) -> None:
    try:
        read = mujoco.MjModel.from_xml_path(str(path))
    except Exception as error:  # MuJoCo raises ValueError, mujoco.FatalError and others
        text = " ".join(str(error).split())
        raise ExecutionError(
            f"MuJoCo does not read the XML it wrote: {text}; export to .mjb"
        ) from error
    sizes = ("nq", "nv", "nu", "na", "nbody", "ngeom", "nactuator", "nsensor", "neq", "nkey")
    for size in sizes:
        if getattr(read, size) != getattr(model, size):
            raise ExecutionError(
                f"MuJoCo reads {size} {getattr(read, size)} from the XML it wrote, not "
                f"{getattr(model, size)}; export to .mjb"
            )
    for name in _PHYSICS:
        if not np.allclose(getattr(read, name), getattr(model, name), rtol=1e-4, atol=1e-9):
            raise ExecutionError(
                f"MuJoCo reads another {name} from the XML it wrote; export to .mjb"
            )


def _move_files(root: Any, world: World, folder: str) -> dict[Path, str]:
    """Point the file references of an XML to a folder beside it; returns what goes there."""
    moved: dict[Path, str] = {}
    places: dict[str, tuple[Path, Any]] = {}
    for element in [*root.iterfind("asset/*"), *root.iterfind("deformable/skin")]:
        for name in [n for n in element.attrib if n.startswith("file")]:
            if not places:
                places = {p.name: _folders(p.item) for p in world.placements.actors if p.item.model}
            source = _source(element, element.get(name), places)
            if source not in moved:
                taken = {Path(n).stem for n in moved.values()}
                moved[source] = f"{folder}/{unique(source.stem, taken)}{source.suffix}"
            element.set(name, moved[source])
    return moved


def _folders(actor: Actor) -> tuple[Path, Any]:
    return model_file(actor).parent, load(actor)


def _source(element: Any, file: str, places: Mapping[str, tuple[Path, Any]]) -> Path:
    """The file an asset of an actor was read from."""
    actor = element.get("name", "").partition("/")[0]
    if Path(file).is_absolute() and Path(file).is_file():
        return Path(file).resolve()
    for folder, spec in [places[actor]] if actor in places else places.values():
        inside = spec.texturedir if element.tag == "texture" else spec.meshdir
        name = Path(file).name if spec.strippath else file.removeprefix("package://")
        for path in (folder / inside / name, folder / name):
            if path.is_file():
                return path.resolve()
    raise ExecutionError(
        f"the file {file!r} of {element.tag} {element.get('name')!r} was not found beside its "
        "model; export to .mjb, which needs no files"
    )


@contextmanager
def staging(path: Path) -> Iterator[Path]:
    """A folder whose files replace those beside `path` at the end, unless there was an error."""
    try:
        with tempfile.TemporaryDirectory(prefix=".mjrig-export-", dir=path.parent) as name:
            yield Path(name)
            made = sorted(p for p in Path(name).rglob("*") if p.is_file())
            for file in sorted(made, key=lambda p: p.name == path.name):  # the model last
                target = path.parent / file.relative_to(name)
                target.parent.mkdir(exist_ok=True)
                os.replace(file, target)
    except OSError as error:
        raise ExecutionError(f"{path}: cannot be written: {error.strerror}") from error
