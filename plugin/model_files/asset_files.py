"""The files a model needs besides its own: meshes, textures, height fields, skins."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mjrig.errors import PropertyError
from mjrig.files.paths import Gate, nearest_files
from mjrig.model_files.images import Pixels
from mjrig.model_files.mesh_formats import CONVERTED, convert
from mjrig.model_files.skin_file import read_world_skin
from mjrig.model_files.vectors import values_of


def check_assets(spec: Any, model: Path, gate: Gate | None = None) -> None:
    """Make sure that MuJoCo will find every file a model names, also once it is in a world.

    Meshes in formats it does not read are converted.

    Args:
        spec: of the model.
        model: its file.
        gate: is asked about every file; None: they may all be read.

    Raises:
        PropertyError: one is missing, the message lists where it was searched; the gate refuses
            it; or its images are too large.
        MissingExtraError: one needs a package that is not installed.
    """
    pixels = Pixels(repr(model.name))
    for kind, asset in _assets(spec):
        for file in _files(kind, asset):
            path = asset_path(spec, model, kind, file)
            if gate is not None:
                gate.admit(path, file)
            is_resource = ":" in file.partition("/")[0]  # another provider may know it
            if os.path.isfile(path):
                pixels.add_file(path)
                if kind == "skin":
                    read_world_skin(asset, path)
                continue
            if is_resource and gate is None:
                continue
            what = f"{kind} {asset.name!r}" if asset.name else kind
            there = "there" if str(path) == file else f"at {str(path)!r}"
            raise PropertyError(
                f"the {what} of {str(model)!r} needs the file {file!r}, which is not {there}"
                f"{nearest_files(path)}"
            )
        if kind == "mesh" and Path(asset.file).suffix.lower() in CONVERTED:
            convert(asset, asset_path(spec, model, kind, asset.file))
        elif spec.strippath and asset.file:  # NOTE: attaching loses the strippath flag
            asset.file = str(asset_path(spec, model, kind, asset.file).absolute())


def asset_path(spec: Any, model: Path, kind: str, file: str) -> Path:
    """Where MuJoCo looks for a file that a model names."""
    folder = spec.texturedir if kind == "texture" else spec.meshdir
    name = Path(file).name if spec.strippath else file
    return Path(model.parent, folder, name)


def _assets(spec: Any) -> Iterator[tuple[str, Any]]:
    kinds = {"mesh": spec.meshes, "hfield": spec.hfields, "skin": spec.skins}
    for kind, assets in {**kinds, "texture": spec.textures}.items():
        yield from ((kind, asset) for asset in assets)


def _files(kind: str, asset: Any) -> list[str]:
    """The files of an asset: one, six for the sides of a cube, or none."""
    if kind != "texture":
        return [asset.file] if asset.file else []
    return [file for file in (asset.file, *values_of(asset.cubefiles)) if file]
