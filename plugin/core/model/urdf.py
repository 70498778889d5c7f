"""Mesh files of a URDF: resolved as in ROS, by package, path or URI."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse
from xml.etree import ElementTree

from mjrig.core.errors import PropertyError
from mjrig.core.files.paths import Gate, shortened
from mjrig.core.model.asset_files import CONVERTED, NATIVE

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
