"""The files a model needs besides its own: meshes, textures, height fields, skins."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mjrig.errors import PropertyError
from mjrig.names import suggestion


def check_assets(spec: Any, model: Path) -> None:
    """Make sure that MuJoCo will find every file a model names, also once it is in a world.

    Raises:
        PropertyError: one is missing; the message lists where it was searched.
    """
    for kind, asset in _assets(spec):
        for file in _files(kind, asset):
            path = asset_path(spec, model, kind, file)
            if path.is_file() or ":" in file.partition("/")[0]:  # a provider's resource
                continue
            what = f"{kind} {asset.name!r}" if asset.name else kind
            there = "there" if str(path) == file else f"at {str(path)!r}"
            raise PropertyError(
                f"the {what} of {str(model)!r} needs the file {file!r}, which is not {there}"
                f"{_nearest_file(path)}"
            )
        if spec.strippath and asset.file:  # NOTE: attaching loses the strippath flag
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
    files = [asset.file, *(asset.cubefiles if kind == "texture" else ())]
    return [file for file in files if file]


def _nearest_file(path: Path) -> str:
    if not path.parent.is_dir():
        return f"; the folder {str(path.parent)!r} does not exist"
    names = sorted(p.name for p in path.parent.iterdir() if p.is_file())
    return f"; {suggestion(path.name, names)}" if names else ""
