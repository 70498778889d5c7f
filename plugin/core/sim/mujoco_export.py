"""Export: a scene as plain MuJoCo, its controllers lowered to MuJoCo actuators.

`.mjb` is the model of the native world, bit-identical; `.xml` is the same with every number
written in full. Neither can hold the contents of delay buffers: they go into a JSON file next
to the model.
"""

import ctypes
import errno
import json
import os
import re
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from shutil import copyfile
from typing import Any
from xml.etree import ElementTree

import mujoco
import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.control.controller import ArticulationController
from mjrig.core.control.execution import Execution, PlantComponent
from mjrig.core.errors import ExecutionError, phrase
from mjrig.core.model.binding import ActorModel, spans
from mjrig.core.model.build import Built
from mjrig.core.model.model_source import load, model_file
from mjrig.core.names import unique
from mjrig.core.properties.component import ActorComponent
from mjrig.core.scene.editing.scene import Actor, Scene
from mjrig.core.scene.placement import flattened
from mjrig.core.sim.native_compile import Key
from mjrig.core.sim.world import Assembly, World, assemble, choose_executions

# Lowered world ------------------------------------------------------------------------------------


_DISABLED = "it is disabled; its actuators are driven directly"


class LoweredWorld(World):
    """A world with everything lowered that has a MuJoCo form, and the rest in Python."""

    built: Built
    #: Label and reason of each component without a MuJoCo form.
    left_out: dict[Key, tuple[str, str]]

    def __init__(self, scene: Scene) -> None:
        self.left_out = {}
        self._disabled: dict[Key, tuple[str, str]] = {}
        super().__init__(scene)

    def remarks(self) -> list[tuple[str, str]]:
        """Label and reason of everything the file does not have, in scene order."""
        return [about for _, about in sorted((self.left_out | self._disabled).items())]

    def _assemble(self, scene: Scene, seed: int | None, execution: str) -> Assembly:
        made = assemble(scene, seed, execution, self._log, self._choose)
        if made.built.spec is None:
            raise ExecutionError("the model of the scene is an .mjb: it is already exported")
        self.built = made.built
        return made

    def _choose(self, alive: Assembly, requested: str, not_here: str) -> dict[Key, Execution]:
        chosen = choose_executions(alive, requested, not_here)
        for i, robot in enumerate(alive.robots):
            for j, component in enumerate(robot.components):
                planned = chosen.get((i, j))
                reason = _why_not(component, not_here, planned)
                if isinstance(component, ArticulationController) and not component.enabled:
                    reason = _DISABLED if planned is not None and component.is_bound else ""
                    if reason:
                        self._disabled[i, j] = (component.label, reason)
                elif reason:
                    self.left_out[i, j] = (component.label, reason)
                if isinstance(component, ArticulationController) and planned is not None:
                    native = component.is_bound and not reason
                    chosen[i, j] = Execution("native" if native else "python", reason)
        return chosen


def _why_not(component: ActorComponent, not_here: str, chosen: Execution | None) -> str:
    """Why a component has no MuJoCo form; empty if it has one, or none is needed."""
    if isinstance(component, PlantComponent):
        return component.supports()["native"].reason
    if type(component).before_controls is not ActorComponent.before_controls:
        return "it moves setpoints in Python, before every step"
    if not isinstance(component, ArticulationController) or not component.is_bound:
        return ""
    if chosen is not None and chosen.name == "native":
        return ""
    native = component.supports()["native"]
    if not native.available:
        return native.reason
    return not_here if chosen is not None else ""


def present_scene(world: World, without: Collection[Key] = ()) -> Scene:
    """The scene of a world with its present components and values, without some."""
    scene = flattened(Scene, world.placements, world.scene.effective_sim())
    for i, (actor, robot) in enumerate(
        zip(scene.actors, world.articulations.values(), strict=True)
    ):
        kept = [c.copy() for j, c in enumerate(robot.components) if (i, j) not in without]
        actor.components = tuple(kept)
    return scene


def clamp_target_inputs(world: World) -> None:
    """Make the joint ranges that hold position targets into ranges of the position inputs."""
    for controller in lowered_controllers(world):
        assert controller.lowered is not None
        if not getattr(controller, "clamp_targets", False):
            continue
        for binding, inputs in zip(controller.bindings, controller.lowered.inputs, strict=True):
            if binding.joint_range is not None:
                ends = [binding.factor * end for end in binding.joint_range]
                world.model.actuator_ctrllimited[inputs[0]] = True
                world.model.actuator_ctrlrange[inputs[0]] = sorted(ends)


def lowered_controllers(world: World) -> list[ArticulationController]:
    robots = world.articulations.values()
    return [c for robot in robots for c in robot.controllers if c.lowered is not None]


# Export states ------------------------------------------------------------------------------------


#: The keyframe that is the world right after a reset, setpoints included.
START = "start"


@dataclass(frozen=True)
class ExportedState:
    """A keyframe of the exported model, in the layout of the lowered world."""

    qpos: FloatArray
    qvel: FloatArray
    act: FloatArray
    ctrl: FloatArray
    mpos: FloatArray
    mquat: FloatArray

    @classmethod
    def of(cls, data: Any) -> "ExportedState":
        arrays = (data.qpos, data.qvel, data.act, data.ctrl, data.mocap_pos, data.mocap_quat)
        return cls(*(array.copy() for array in arrays))

    def with_share(self, other: "ExportedState", where: ActorModel) -> "ExportedState":
        """This frame, with one actor's share of another."""
        places = {
            "qpos": where.qpos, "qvel": where.dof, "act": where.act, "ctrl": where.ctrl,
            "mpos": where.mocap, "mquat": where.mocap,
        }  # fmt: skip
        mixed = {name: getattr(self, name).copy() for name in places}
        for name, place in places.items():
            mixed[name][place] = getattr(other, name)[place]
        return ExportedState(**mixed)


def exported_states(world: World) -> dict[str, ExportedState]:
    """The keyframes by full name, other actors in their initial states; the initial one last."""
    start = ExportedState.of(_after_reset(world, None))
    frames: dict[str, ExportedState] = {}
    for robot in world.articulations.values():
        for name in robot.keyframes:
            there = ExportedState.of(_after_reset(world, name))
            frames[robot.model_map.prefix + name] = start.with_share(there, robot.model_map)
    return {**frames, START: start}


def _after_reset(world: World, keyframe: str | None) -> Any:
    """The data before the first step: reset, and the setpoints written to the inputs."""
    world.reset(keyframe)
    for robot in world.articulations.values():
        robot.apply_controls()
    return world.data


def first_commands(world: World, ctrl: FloatArray) -> dict[str, list[float]]:
    """The initial content of the delay buffers of lowered actuators."""
    model = world.model
    found = {}
    for controller in lowered_controllers(world):
        assert controller.lowered is not None
        for binding, inputs in zip(controller.bindings, controller.lowered.inputs, strict=True):
            if model.actuator_history[binding.actuator_id][0]:
                found[model.actuator(binding.actuator_id).name] = ctrl[inputs].tolist()
    return found


def add_keyframes(spec: Any, world: World, frames: Mapping[str, ExportedState]) -> Any:
    """Compile a spec with these keyframes; activations it no longer has are left out."""
    for key in list(spec.keys):  # in the layout from before the lowering
        spec.delete(key)
    bare = spec.compile()
    kept = _kept_activations(world.model, bare)
    for name, frame in frames.items():
        spec.add_key(
            name=name,
            qpos=frame.qpos,
            qvel=frame.qvel,
            act=frame.act[kept],
            ctrl=frame.ctrl,
            mpos=frame.mpos.reshape(-1),
            mquat=frame.mquat.reshape(-1),
        )
    return spec.compile()


def _kept_activations(old: Any, new: Any) -> Any:
    starts = np.where(new.actuator_actnum > 0, old.actuator_actadr, -1)
    return spans(starts, new.actuator_actnum)


# Export xml ---------------------------------------------------------------------------------------
# An exported model as MJCF, with every digit, and the files it needs beside it.


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


# Exporting ----------------------------------------------------------------------------------------
# `.mjb` is the model of the native world, bit for bit; `.xml` the same with every number written in
# full. What neither can hold, the contents of delay buffers, goes into a JSON beside them.


SUFFIXES = (".xml", ".mjb")
_NUMBER_LIST = re.compile(r"\[[^\[\]\"]*\]")


def export(scene: Scene | World, path: Path, *, partial: bool = False) -> list[str]:
    """Write a scene as a model that bare MuJoCo runs like the native world.

    A world is exported with its present properties, from its state right after a reset.

    Args:
        scene: what to export.
        path: `.xml` or `.mjb`; a `.json`, and a folder for meshes and textures, go beside it.
        partial: leave out what has no MuJoCo form instead of refusing it.

    Returns:
        Notes: what is not in the file, and why.

    Raises:
        ExecutionError: something has no MuJoCo form, or the file cannot be written; nothing was.
        SceneError: the scene cannot be built.
    """
    path = Path(path)
    _check_path(path)
    world = LoweredWorld(present_scene(scene) if isinstance(scene, World) else scene)
    left_out = world.left_out
    if left_out and not partial:
        reasons = [f"{label} cannot be exported: {reason}" for label, reason in left_out.values()]
        raise ExecutionError("; ".join(reasons) + phrase("partial export"))
    notes = [f"{label} is not in this file: {reason}" for label, reason in world.remarks()]
    if left_out:
        world = LoweredWorld(present_scene(world, left_out.keys()))
    clamp_target_inputs(world)
    frames = exported_states(world)
    beside = {
        "mjrig": version("mjrig"),
        "keyframe": START,
        "first_command": first_commands(world, frames[START].ctrl),
        "notes": notes,
    }
    with staging(path) as folder:
        staged = folder / path.name
        if path.suffix == ".mjb":
            _save_binary(_binary_model(world, frames), staged)
        else:
            notes += write_xml(world, frames, staged, notes)
        text = json.dumps(beside, indent=2, ensure_ascii=False)
        text = _NUMBER_LIST.sub(lambda match: " ".join(match[0].split()), text)
        (folder / f"{path.stem}.json").write_text(text + "\n", encoding="utf-8")
    return notes


def _save_binary(model: Any, path: Path) -> None:
    """Save a model; MuJoCo itself does not notice a full disk.

    Raises:
        OSError: the disk is full.
    """
    mujoco.mj_saveModel(model, str(path), None)
    if not path.is_file() or path.stat().st_size < mujoco.mj_sizeModel(model):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _check_path(path: Path) -> None:
    if path.suffix not in SUFFIXES:
        raise ExecutionError(f"{path}: export to a file that ends in .xml or .mjb")
    if not path.parent.is_dir():
        raise ExecutionError(f"{path}: the folder {str(path.parent)!r} does not exist")
    if path.is_dir():
        raise ExecutionError(f"{path}: is a folder")


def _binary_model(world: LoweredWorld, frames: Mapping[str, ExportedState]) -> Any:
    """The world's own model, with keyframes."""
    model = add_keyframes(world.built.spec, world, frames)
    for name in dir(world.model):
        if name.startswith("actuator_"):
            getattr(model, name)[:] = getattr(world.model, name)
    for k, frame in enumerate(frames.values()):  # compiling may have changed the last bit
        for name, values in vars(frame).items():
            getattr(model, f"key_{name}")[k] = values.reshape(-1)
    return model
