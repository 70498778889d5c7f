"""Compiler attributes of a model and of its actor, applied to the spec before it is attached."""

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import mujoco
import numpy as np

from mjrig.core.files.file_types import Content, content_of, head_of, root_element
from mjrig.core.files.paths import read_limited
from mjrig.core.files.referenced_files import MAX_BYTES

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
