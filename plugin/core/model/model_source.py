"""Model files: MJCF and URDF with their compiler settings, and models of Menagerie."""

import ast
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse
from xml.etree import ElementTree

import mujoco
import numpy as np

from mjrig.core.errors import MissingExtraError, PropertyError
from mjrig.core.files.paths import (
    MAX_BYTES,
    Content,
    Gate,
    check_regular,
    content_of,
    head_of,
    is_in_package,
    package_folders,
    read_limited,
    root_element,
    shortened,
)
from mjrig.core.model.asset_files import CONVERTED, NATIVE, check_assets
from mjrig.core.model.model_size import check_size
from mjrig.core.names import suggestion
from mjrig.core.scene.actor_description import ActorDescription
from mjrig.core.scene.mujoco_options import check_iterations

# Compiler settings --------------------------------------------------------------------------------
# What a model's compiler attributes, and those of its actor, make of its spec before attaching.


#: Suffixes by which MuJoCo knows its models.
_READABLE = (".xml", ".urdf", ".mjz", ".zip")
_INERTIA = {
    "false": mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE,
    "true": mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE,
    "auto": mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_AUTO,
}
_FOLDERS = ("meshdir", "texturedir")
#: Attributes that name folders.
FOLDERS = (*_FOLDERS, "assetdir")


def read_spec(path: Path, given: Mapping[str, Any], *, urdf: bool) -> Any:
    """The spec of a model file, with compiler attributes that override those of the file.

    Args:
        path: the file.
        given: the attributes.
        urdf: what `is_urdf` finds.

    Raises:
        Exception: MuJoCo's own, or that of the XML parser.
    """
    if urdf:
        return _read_urdf(path, given)
    spec = _from_file(path)
    set_compiler(spec, given)
    return spec


def is_urdf(path: Path) -> bool:
    """Whether a file is a URDF, whatever its name."""
    return root_element(head_of(path)) == "robot"


def _from_file(path: Path) -> Any:
    """The spec of a file, whatever its name; MuJoCo itself goes by the suffix, in lower case."""
    # NOTE: absolute, or files named in an included file are looked for in the wrong folder.
    name = str(path.absolute())
    if path.suffix in _READABLE or content_of(path) is not Content.XML:
        return mujoco.MjSpec.from_file(name)
    alias = f"{name}.xml"  # in the same folder, for the files it includes
    return mujoco.MjSpec.from_file(alias, include={alias: read_limited(path, MAX_BYTES)})


def _read_urdf(path: Path, given: Mapping[str, Any]) -> Any:
    """A URDF is read with its compiler attributes: its parser already obeys them."""
    if not given:
        spec = _from_file(path)
        # A URDF asks for it unless told otherwise, but here its links are there to be attached to.
        spec.compiler.fusestatic = bool(_says(ElementTree.parse(path).getroot(), "fusestatic"))
        return spec
    parser = ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True))
    root = ElementTree.parse(path, parser).getroot()
    extension = root.find("mujoco")
    if extension is None:
        extension = ElementTree.SubElement(root, "mujoco")
    compiler = extension.find("compiler")
    if compiler is None:
        compiler = ElementTree.SubElement(extension, "compiler")
    for name, value in given.items():
        compiler.set(name, " ".join(map(str, value)) if isinstance(value, tuple) else str(value))
    spec = mujoco.MjSpec.from_string(ElementTree.tostring(root, encoding="unicode"))
    spec.modelfiledir = str(path.absolute().parent)
    spec.compiler.fusestatic = bool(_says(root, "fusestatic"))
    return spec


def _says(root: Any, name: str) -> bool:
    """Whether a URDF switches a compiler attribute on itself."""
    return any(c.get(name) == "true" for c in root.iterfind("mujoco/compiler"))


def set_compiler(spec: Any, given: Mapping[str, Any]) -> None:
    """Write the compiler attributes of an actor into its spec."""
    for name, value in given.items():
        if name == "assetdir":
            for folder in _FOLDERS:
                setattr(spec, folder, given.get(folder, value))
        elif name in _FOLDERS:
            setattr(spec, name, value)
        elif name == "strippath":
            spec.strippath = value == "true"
        elif name == "inertiafromgeom":
            spec.compiler.inertiafromgeom = _INERTIA[value]
        elif isinstance(value, str):
            setattr(spec.compiler, name, value == "true")
        else:
            setattr(spec.compiler, name, value)


def settle(spec: Any, named: Callable[[], Collection[str]]) -> None:
    """Do now what MuJoCo does only when it compiles a model by itself.

    Attaching keeps the attributes that act on single elements, not those that act on the whole.

    Args:
        spec: its files must be there.
        named: gives the bodies to keep though they are static, since the scene refers to them;
            called only if any are fused.

    Raises:
        Exception: MuJoCo's own.
    """
    compiler = spec.compiler
    if compiler.discardvisual:
        spec.discard_visual()
        compiler.discardvisual = False
    if compiler.fusestatic:
        kept = named()
        for body in spec.bodies:
            if body.name in kept:
                body.fuse = False
        spec.fuse_static()
        compiler.fusestatic = False
    if int(compiler.passthrough) and not spec.assets:  # nothing can be left in an archive
        for texture in spec.textures:
            if texture.embed == mujoco.mjtEmbed.mjEMBED_AUTO and _can_be_left(texture):
                texture.embed = mujoco.mjtEmbed.mjEMBED_FALSE


def _can_be_left(texture: Any) -> bool:
    """Whether MuJoCo can leave a texture in its file: it takes it as it is."""
    whole = int(texture.gridsize[0]) * int(texture.gridsize[1]) == 1
    return bool(texture.file) and whole and not (texture.hflip or texture.vflip)


def texts(data: object) -> Iterator[str]:
    """Every text in plain data, at any depth."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping):
        for key, value in data.items():
            yield from texts(key)
            yield from texts(value)
    elif isinstance(data, list | tuple):
        for item in data:
            yield from texts(item)


# Total mass ---------------------------------------------------------------------------------------
# `settotalmass` of a model: written into its inertials, since attaching it would drop it.


_INFERRED = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_AUTO
_LEAST = mujoco.mjMINVAL


def scale_total_mass(spec: Any) -> None:
    """Give every body the inertial that MuJoCo would compile the model to by itself.

    The bodies must have names. Nothing is done for a model that does not set its total mass.

    Raises:
        Exception: MuJoCo's own: the model does not compile.
    """
    compiler = spec.compiler
    if compiler.settotalmass <= 0:
        return
    model = unscaled(spec)
    # NOTE: the operations of mj_setTotalmass in their order, for the same bits.
    scale = max(_LEAST, compiler.settotalmass / max(_LEAST, sum(model.body_mass[1:].tolist())))
    write_inertials(spec, model, scale)
    compiler.settotalmass = -1.0


def write_inertials(spec: Any, model: Any, scale: float = 1.0) -> None:
    """Give every body the inertial it was compiled to, times a scale; nothing changes it then."""
    for body in spec.bodies:
        if body.name == "world":
            continue
        compiled = model.body(body.name)
        if compiled.mass[0] or compiled.inertia.any():
            body.mass = compiled.mass[0] * scale
            body.inertia = compiled.inertia * scale
            body.ipos, body.iquat = compiled.ipos, compiled.iquat
            body.fullinertia = np.full(6, np.nan)
            body.ialt.type = mujoco.mjtOrientation.mjORIENTATION_QUAT
            body.explicitinertial = True
    compiler = spec.compiler
    compiler.boundmass = compiler.boundinertia = 0.0
    compiler.balanceinertia = False
    compiler.inertiafromgeom = _INFERRED


def unscaled(spec: Any) -> Any:
    """The compiled model, with every inertial in the frame of its body as it is written."""
    copied = spec.copy()
    copied.compiler.settotalmass = -1.0
    copied.compiler.alignfree = False
    copied.compiler.LRopt.mode = int(mujoco.mjtLRMode.mjLRMODE_NONE)
    for joint in copied.joints:
        joint.align = mujoco.mjtAlignFree.mjALIGNFREE_FALSE
    return copied.compile()


# Menagerie ---------------------------------------------------------------------------------------
# `menagerie:unitree_go2`: models of the MuJoCo Menagerie, from a checkout or by a package.


MENAGERIE = "menagerie:"
VARIABLE = "MJRIG_MENAGERIE"
PACKAGE = "robot_descriptions"
_REPOSITORY = "mujoco_menagerie"
_DOWNLOAD_ADVICE = (
    f"set {VARIABLE} to a checkout of {_REPOSITORY}, or pip install 'mjrig[menagerie]', "
    "which downloads it once"
)


def is_in_menagerie(name: Path) -> bool:
    """Whether a model's name has the form `menagerie:…`."""
    return name.as_posix().startswith(MENAGERIE)


def find_in_menagerie(name: Path, gate: Gate | None = None) -> Path:
    """The file of a name: `menagerie:robot`, its main model, or `menagerie:robot/file.xml`.

    Raises:
        PropertyError: there is no such robot or file, or no menagerie, or the gate refuses it.
    """
    robot, _, inside = name.as_posix().removeprefix(MENAGERIE).partition("/")
    if not robot:
        raise PropertyError(f"{MENAGERIE} needs the name of a robot: {MENAGERIE}unitree_go2")
    if {".", ".."} & {robot, *inside.split("/")}:
        raise PropertyError(f"{name.as_posix()!r} leads outside of the menagerie")
    checkout = os.environ.get(VARIABLE)
    if gate is not None and checkout:
        gate.admit(Path(checkout, robot, inside), name)
    elif gate is not None:
        gate.admit_package(PACKAGE)
    folder = _in_checkout(Path(checkout), robot) if checkout else _by_package(robot)
    if not inside:
        return _main_file(folder)
    path = folder / inside
    if not os.path.isfile(path):
        names = [p.relative_to(folder).as_posix() for p in sorted(folder.rglob("*.xml"))]
        raise PropertyError(f"{robot!r} has no file {inside!r}; {suggestion(inside, names)}")
    return path


def _in_checkout(root: Path, robot: str) -> Path:
    if not root.is_dir():
        raise PropertyError(f"{VARIABLE} is {str(root)!r}, which is not a folder")
    folder = root / robot
    if not folder.is_dir():
        names = sorted(p.parent.name for p in root.glob("*/*.xml"))
        raise PropertyError(f"{str(root)!r} has no robot {robot!r}; {suggestion(robot, names)}")
    return folder


def _main_file(folder: Path) -> Path:
    """The model itself: named like the folder, with or without the vendor, or the only one."""
    words = folder.name.split("_")
    for i in range(len(words)):
        path = folder / f"{'_'.join(words[i:])}.xml"
        if path.is_file():
            return path
    names = sorted(p.name for p in folder.glob("*.xml"))
    models = [name for name in names if not name.startswith("scene")]
    if len(models) == 1:
        return folder / models[0]
    listed = ", ".join(names) or "none"
    raise PropertyError(
        f"{folder.name!r} has no main model; name the file, as in "
        f"{MENAGERIE}{folder.name}/{names[0] if names else 'scene.xml'}; it has: {listed}"
    )


# By package -------------------------------------------------------------------------------------


def _by_package(robot: str) -> Path:
    """The folder of a robot in the copy that `robot_descriptions` keeps.

    Only the module of this robot is imported: importing any of them downloads it.
    """
    modules = dict(_description_modules())
    if not modules:
        raise PropertyError(f"there is no menagerie: {_DOWNLOAD_ADVICE}")
    if robot not in modules:
        hint = suggestion(robot, sorted(modules))
        raise PropertyError(f"{PACKAGE} knows no menagerie robot {robot!r}; {hint}")
    try:
        folder = Path(import_module(f"{PACKAGE}.{modules[robot]}").PACKAGE_PATH)
    except Exception as error:  # git and the network raise anything
        text = " ".join(str(error).split()) or type(error).__name__
        raise PropertyError(
            f"{PACKAGE} cannot download {robot!r}: {text}; go online once, "
            f"or set {VARIABLE} to a checkout of {_REPOSITORY}"
        ) from error
    if not folder.is_dir():
        raise PropertyError(f"{PACKAGE} locates {robot!r} in {str(folder)!r}, which does not exist")
    return folder


def _description_modules() -> Iterator[tuple[str, str]]:
    """Folder in the menagerie → its module, read without importing anything.

    Raises:
        PropertyError: an import would run a folder that is not the installed package.
    """
    installed = package_folders(PACKAGE)
    if not installed:
        return
    spec = find_spec(PACKAGE)
    places = None if spec is None else spec.submodule_search_locations
    meant = [Path(place) for place in places or ()]
    if meant != installed:
        raise PropertyError(
            f"{str(meant[0] if meant else PACKAGE)!r} is not the installed {PACKAGE}, and is not "
            "run; start in another folder"
        )
    for place in installed:
        for file in sorted(Path(place).glob("*_mj_description.py")):
            texts = _strings(ast.parse(file.read_text(encoding="utf-8")))
            if _REPOSITORY in texts.get("REPOSITORY_PATH", ()):
                yield "/".join(texts.get("PACKAGE_PATH", ())), file.stem


def _strings(module: ast.Module) -> dict[str, list[str]]:
    """Name → the strings its value is made of, for the assignments of a module."""
    found = {}
    for node in module.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        if isinstance(targets[0], ast.Name) and isinstance(value, ast.expr):
            parts = [n.value for n in ast.walk(value) if isinstance(n, ast.Constant)]
            found[targets[0].id] = [part for part in parts if isinstance(part, str)]
    return found


# Urdf --------------------------------------------------------------------------------------------
# Mesh files of a URDF: resolved as in ROS, by package, path or URI.


_PACKAGES = ("package", "model")


def find_meshes(spec: Any, urdf: Path, gate: Gate | None = None) -> None:
    """Give every mesh of a URDF's spec the full path of its file.

    With the compiler attribute `strippath` MuJoCo's own rule applies.

    Args:
        spec: of the URDF.
        urdf: its file.
        gate: decides which files may be read; without one, a message about a missing mesh says
            where else it is.

    Raises:
        PropertyError: a mesh is not found, of a format that cannot be read, or only where the
            gate admits no file.
    """
    if not spec.meshes or spec.strippath:
        return
    for mesh in spec.meshes:
        if Path(mesh.file).suffix.lower() not in NATIVE + CONVERTED:
            raise PropertyError(
                f"{_used_by(urdf, mesh.file)} the mesh {mesh.file!r}, which must be "
                f"{', '.join(NATIVE)}, {', '.join(CONVERTED[:-1])} or {CONVERTED[-1]}: convert "
                "it, or remove it if it is only visual"
            )
        places = list(dict.fromkeys(mesh_places(mesh.file, urdf, spec.meshdir)))
        if gate is not None:
            places = _admitted(places, mesh.file, gate)
        found = next((place for place in places if os.path.isfile(place)), None)
        if found is None:
            looked = ", ".join(repr(shortened(str(place))) for place in places)
            raise PropertyError(
                f"{_used_by(urdf, mesh.file)} the mesh {mesh.file!r}, which was not found; "
                f"looked at: {looked}{_elsewhere(spec, urdf) if gate is None else ''}"
            )
        mesh.file = str(found)


def mesh_places(name: str, urdf: Path, meshdir: str = "") -> Iterator[Path]:
    """Where the file of a mesh may be, best first."""
    folder = urdf.absolute().parent
    address = urlparse(name)
    if address.scheme in _PACKAGES:
        package, inside = address.netloc, unquote(address.path).lstrip("/")
        for parent in (folder, *folder.parents):
            if parent.name == package:
                yield parent / inside
            yield parent / package / inside
        yield folder / inside  # the meshes are beside the URDF, without the package around them
    elif address.scheme == "file":
        yield Path(unquote(address.path))
    else:
        yield folder / meshdir / name
        yield folder / name


def _elsewhere(spec: Any, urdf: Path) -> str:
    """The line that finds all meshes by their names alone, if one folder near has them all."""
    names = {Path(unquote(mesh.file)).name for mesh in spec.meshes}
    folder = urdf.absolute().parent
    near = [p for root in (folder, folder.parent) for p in (root, *sorted(root.iterdir()))]
    for place in near:
        if place.is_dir() and all((place / name).is_file() for name in names):
            inside = os.path.relpath(place, folder)
            where = "" if inside == "." else f", meshdir: {inside}"
            return f"; the actor's `compiler: {{strippath: true{where}}}` finds them"
    return ""


def _admitted(places: list[Path], name: str, gate: Gate) -> list[Path]:
    """The places that a gate admits.

    Raises:
        PropertyError: it admits none of them.
    """
    admitted = []
    refusal = None
    for place in places:
        try:
            gate.admit(place, name)
            admitted.append(place)
        except PropertyError as error:
            refusal = error
    if refusal is not None and not any(os.path.isfile(place) for place in admitted):
        raise refusal
    return admitted


def _used_by(urdf: Path, mesh: str) -> str:
    """`link 'hip' of 'dog.urdf' needs`, for the first link with this mesh."""
    try:
        root = ElementTree.parse(urdf).getroot()
    except (ElementTree.ParseError, ValueError, LookupError):  # MuJoCo reads more than that
        return f"{str(urdf)!r} needs"
    for link in root.iter("link"):
        # Visual meshes are discarded unless the file keeps them: name a colliding link first.
        for geometry in (*link.iter("collision"), *link.iter("visual")):
            if any(m.get("filename") == mesh for m in geometry.iter("mesh")):
                return f"link {link.get('name')!r} of {str(urdf)!r} needs"
    return f"{str(urdf)!r} needs"


# Model source -------------------------------------------------------------------------------------


ARCHIVES = (".mjz", ".zip")
BINARY = ".mjb"
_ADVICE = {
    "larger than mjMINVAL": "give it an <inertial>, or geoms with mass",
    "positive eigenvalues": "a real body has three positive principal moments",
}


def load(
    actor: ActorDescription,
    named: Callable[[], Collection[str]] = tuple,
    *,
    compiler: Mapping[str, Any] | None = None,
) -> Any:
    """The spec of an actor's model, from its file or prop; every file it needs exists.

    Args:
        actor: its `compiler` overrides the attributes of the file.
        named: gives the bodies that others refer to; they are not fused with their parents.
        compiler: attributes to try in place of the actor's own.

    Raises:
        PropertyError: a file is missing, or MuJoCo cannot read it.
    """
    if actor.prop is not None:
        return _filled(actor)
    path, gate = model_file(actor), _gate(actor)
    if path.suffix.lower() == BINARY:
        problem = "an .mjb is already compiled: it must be the only actor and cannot be edited"
        raise PropertyError(f"{actor.label}.model: {problem}", ("model",))
    given = given_compiler(actor) if compiler is None else compiler
    gate = _gate_of_folders(actor, path, given) or gate
    try:
        is_archive = path.suffix.lower() in ARCHIVES
        if not is_archive:
            check_regular(path)
        check_size(path, is_archive=is_archive)
        urdf = is_urdf(path)
        spec = read_spec(path, given, urdf=urdf)
        check_iterations(spec.option)
    except PropertyError as error:
        raise PropertyError(f"{actor.label}.model: {error}", ("model",)) from None
    except Exception as error:  # MuJoCo raises ValueError, mujoco.FatalError and others
        said = f"{path.name!r}: {one_line(error)}"
        raise PropertyError(f"{actor.label}.model: {said}", ("model",)) from error
    try:
        if urdf:
            find_meshes(spec, path, gate)
        if path.suffix.lower() not in ARCHIVES:
            check_assets(spec, path, gate)
    except (PropertyError, MissingExtraError) as error:
        raise PropertyError(f"{actor.label}.model: {error}", ("model",)) from None
    try:
        settle(spec, lambda: {*named(), *texts(actor.to_data())})
    except Exception as error:
        raise PropertyError(f"{actor.label}.model: {one_line(error)}", ("model",)) from error
    return spec


def _gate_of_folders(actor: ActorDescription, path: Path, given: Mapping[str, Any]) -> Gate | None:
    """The gate, if the scene names folders that it did not see when it admitted the model.

    Raises:
        PropertyError: it refuses one.
    """
    gate, folders = actor.gate(), [name for name in given if name in FOLDERS]
    if gate is None or not folders:
        return None
    for name in folders:
        try:
            gate.admit(path.parent / given[name], given[name])
        except PropertyError as error:
            at = ("compiler", name)
            raise PropertyError(f"{actor.label}.compiler.{name}: {error}", at) from None
    return gate


def given_compiler(actor: ActorDescription) -> dict[str, Any]:
    """The compiler attributes that a scene gives an actor."""
    return dict(actor.compiler.given()) if actor.compiler is not None else {}


def model_file(actor: ActorDescription) -> Path:
    """The file of an actor's model.

    Raises:
        PropertyError: there is none; the message lists where it was searched.
    """
    assert actor.model is not None
    try:
        if is_in_menagerie(actor.model):
            path = find_in_menagerie(actor.model, gate := actor.gate())
            if gate is not None:
                gate.admit(path, actor.model)
                gate.admit_model(path)
            return path
        return actor.find_file(actor.model)
    except PropertyError as error:
        raise PropertyError(f"{actor.label}.model: {error}", ("model",)) from None


def _gate(actor: ActorDescription) -> Gate | None:
    """What decides about the files that a model names; mjrig's own models may name any."""
    return None if actor.model is None or is_in_package(actor.model) else actor.gate()


def is_binary(actor: ActorDescription) -> bool:
    """Whether an actor's model is already compiled."""
    return actor.model is not None and actor.model.suffix.lower() == BINARY


def one_line(error: BaseException) -> str:
    """The message of an error on one line, with advice where MuJoCo's text is not enough."""
    text = " ".join(str(error).split())
    advice = next((a for words, a in _ADVICE.items() if words in text), "")
    return f"{text} ({advice})" if advice else text


def _filled(actor: ActorDescription) -> Any:
    """The spec a prop makes."""
    assert actor.prop is not None
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    set_compiler(spec, given_compiler(actor))
    try:
        result: object = actor.prop.fill(spec)  # type: ignore[func-returns-value]
        if isinstance(result, mujoco.MjSpec) and result is not spec:
            raise PropertyError(
                f"{actor.prop.label}: {type(actor.prop).__name__}.fill returned another spec; "
                "add the elements to `spec` instead"
            )
    except PropertyError as error:
        raise error.below("prop") from None
    return spec


# Remedy -------------------------------------------------------------------------------------------
# What compiler attributes would make a model compile that MuJoCo refuses.


#: Words of MuJoCo's message, and the attributes that help.
_HELP: dict[str, dict[str, Any]] = {
    "balanceinertia": {"balanceinertia": "true"},
    "mjMINVAL": {"boundmass": 0.001, "boundinertia": 1e-06},
}


def remedy(actor: ActorDescription) -> str:
    """The line for the scene that makes an actor's model compile, tried out; empty: there is none.

    Attributes that the scene gives already are part of the line.
    """
    if actor.model is None or is_binary(actor):
        return ""
    compiler = given_compiler(actor)
    tried: set[str] = set()
    while True:
        try:
            load(actor, compiler=compiler).compile()
        except PropertyError:
            return ""
        except Exception as error:  # MuJoCo raises ValueError, mujoco.FatalError and others
            words = next((w for w in _HELP if w in str(error) and w not in tried), None)
            if words is None:
                return ""
            tried.add(words)
            compiler |= _HELP[words]
        else:
            break
    if not tried:
        return ""
    line = ", ".join(f"{name}: {_text(value)}" for name, value in compiler.items())
    return f"it compiles with the actor's `compiler: {{{line}}}`"


def _text(value: Any) -> str:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else str(value)
