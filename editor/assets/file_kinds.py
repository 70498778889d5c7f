"""Kinds of files, by name and contents, and the path by which a scene refers to a file."""

import os
import re
import zipfile
from importlib.resources import files
from pathlib import Path
from xml.etree import ElementTree

from mjrig.components.policies.checkpoints import is_torchscript, what_else
from mjrig.core.errors import MjrigError
from mjrig.core.files.paths import PACKAGE
from mjrig.core.names import listed
from mjrig.core.scene.editing.scene import Scene
from mjrig.editor.text import tr

# Drop names ---------------------------------------------------------------------------------------
# Names of dropped files in a scene: the path that is written.


_PACKAGES = ("mjrig.assets",)
_SPECIAL = (PACKAGE, "menagerie:")


def is_special(value: str) -> bool:
    """Whether a model is named by a package or a collection instead of a path."""
    return value.startswith(_SPECIAL)


def reference(path: Path, scene: Scene) -> str:
    """How a scene names a file: relative to it if it is below it, in a package, or absolute.

    A scene without a file has no folder yet.
    """
    path = Path(os.path.abspath(path))
    if scene.path is not None:
        base = Path(os.path.abspath(scene.base))
        if path.is_relative_to(base):
            return path.relative_to(base).as_posix()
    return in_package(path) or str(path)


def in_package(path: Path) -> str | None:
    """`package:…` of a file that one of our data packages has; None for any other."""
    for package in _PACKAGES:
        for folder in _folders(package):
            if path.is_relative_to(folder):
                return f"{PACKAGE}{package}/{path.relative_to(folder).as_posix()}"
    return None


def _folders(package: str) -> set[Path]:
    """Where a package lies, and where its files really are if those are links."""
    root = Path(str(files(package)))
    return {root, Path(os.path.realpath(root / "__init__.py")).parent}


# File kinds ---------------------------------------------------------------------------------------


MODEL, SCENE, PRESET, RECORDING, POLICY = "model", "scene", "preset", "recording", "policy"

_MESHES = (".stl", ".obj", ".msh", ".dae", ".ply", ".glb")
_ROOTS = {"mujoco": ".xml, .mjcf", "robot": ".urdf"}
_HEAD = 65_536
#: Keys of a policy.yaml, and of the stacks that are known by a few.
_POLICIES = (
    ("network", "joints", "observation"),
    ("kps", "kds", "default_angles", "num_actions"),
    ("joint_ids_map", "step_dt", "observations"),
)
_HDF5 = b"\x89HDF\r\n\x1a\n"
_MJB = (54321).to_bytes(4, "little")


class FileKindError(MjrigError):
    """A file that the editor cannot use; the message gives the reason."""


def classify(path: Path) -> str:
    """`model`, `scene`, `preset`, `recording` or `policy`.

    Raises:
        FileKindError: it is none of them, a folder, missing, or not what its suffix implies.
    """
    suffix = path.suffix.lower()
    try:
        if path.is_dir():
            raise FileKindError(
                tr(
                    "{name!r} is a folder; add it in the asset browser, or drop a file of it",
                    name=path.name,
                )
            )
        look = KINDS.get(suffix) or LOOSE.get(suffix)
        if look is None:
            raise FileKindError(_unknown(path))
        with path.open("rb") as file:
            head = file.read(_HEAD)
        if not head:
            raise FileKindError(tr("{name!r} is empty", name=path.name))
        return look(path, head)
    except OSError as error:
        raise FileKindError(
            tr("{name!r} cannot be read: {reason}", name=path.name, reason=error.strerror)
        ) from error


def _unknown(path: Path) -> str:
    if not path.exists():
        return tr("there is no file {path!r}", path=str(path))
    if path.suffix.lower() in _MESHES:
        return tr(
            "{name!r} is a mesh, not a model; a model (MJCF, URDF) can use it", name=path.name
        )
    what = (
        tr("files that end in {suffix!r}", suffix=path.suffix)
        if path.suffix
        else tr("files without a suffix")
    )
    return tr(
        "{name!r}: {what} are not supported; supported: {known}",
        name=path.name,
        what=what,
        known=listed((*KINDS, *LOOSE)),
    )


def _xml(path: Path, head: bytes) -> str:
    root = _root_element(path)
    if root in _ROOTS:
        return MODEL
    if root == "mujocoinclude":
        raise FileKindError(
            tr("{name!r} is a fragment for MJCF files to include, not a model", name=path.name)
        )
    raise FileKindError(
        tr(
            "{name!r} is not a model: its root element is <{root}>, not <mujoco> or <robot>",
            name=path.name,
            root=root,
        )
    )


def _root_element(path: Path) -> str:
    try:
        with path.open("rb") as file:
            for _, element in ElementTree.iterparse(file, ["start"]):
                return str(element.tag).rpartition("}")[2]
    except ElementTree.ParseError as error:
        raise FileKindError(
            tr("{name!r} is not well-formed XML: {error}", name=path.name, error=error)
        ) from error
    raise FileKindError(tr("{name!r} has no root element", name=path.name))


def _mjb(path: Path, head: bytes) -> str:
    if not head.startswith(_MJB):
        raise FileKindError(
            tr("{name!r} is not a compiled MuJoCo model, despite its suffix", name=path.name)
        )
    return MODEL


def _yaml(path: Path, head: bytes) -> str:
    text = head.decode("utf-8", errors="replace")
    if _has_key(text, "mjrig"):
        return SCENE
    if _has_key(text, "mjrig_gains"):
        return PRESET
    if any(all(_has_key(text, key) for key in keys) for keys in _POLICIES):
        return POLICY
    raise FileKindError(
        tr(
            "{name!r} is neither a scene ('mjrig: 1') nor a gain preset "
            "('mjrig_gains: 1'); drop the settings of a policy on its robot",
            name=path.name,
        )
    )


def _has_key(text: str, key: str) -> bool:
    """Whether YAML text has a key at the top; cheaper than parsing, for folders full of files."""
    return re.search(rf"""^\ufeff?(?:\{{\s*)?["']?{key}["']?\s*:""", text, re.MULTILINE) is not None


def _hdf5(path: Path, head: bytes) -> str:
    if not head.startswith(_HDF5):
        raise FileKindError(tr("{name!r} is not an HDF5 file, despite its suffix", name=path.name))
    return RECORDING


def _npz(path: Path, head: bytes) -> str:
    if not zipfile.is_zipfile(path):
        raise FileKindError(tr("{name!r} is not an .npz file, despite its suffix", name=path.name))
    return RECORDING


def _onnx(path: Path, head: bytes) -> str:
    return POLICY  # its format has no mark at the beginning


def _torch(path: Path, head: bytes) -> str:
    if not is_torchscript(path):
        what = what_else(path) or tr("is not a TorchScript file, despite its suffix")
        raise FileKindError(f"{path.name!r} {what}")
    return POLICY


def _json(path: Path, head: bytes) -> str:
    return POLICY if b'"policy' in head else RECORDING


def _recording(path: Path, head: bytes) -> str:
    return RECORDING  # its reader reports what is wrong with it


KINDS = {
    ".xml": _xml,
    ".mjcf": _xml,
    ".urdf": _xml,
    ".mjb": _mjb,
    ".yaml": _yaml,
    ".yml": _yaml,
    ".h5": _hdf5,
    ".hdf5": _hdf5,
    ".npz": _npz,
    ".mcap": _recording,
    ".bag": _recording,
    ".onnx": _onnx,
    ".pt": _torch,
}
#: Suffixes with many uses: contents are examined only in files that the user drops.
LOOSE = {
    ".json": _json,
    ".csv": _recording,
    ".msgpack": _recording,
    ".db3": _recording,
    ".parquet": _recording,
}
