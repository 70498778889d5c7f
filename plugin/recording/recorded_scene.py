"""The scene a recording was made in."""

import os
from collections.abc import Mapping
from pathlib import Path

from mjrig.errors import RecordingError
from mjrig.files.sandbox import Sandbox
from mjrig.recording.recording import Recording
from mjrig.scene.load_context import Trust
from mjrig.scene_edit.scene import Scene


def scene_of(
    recording: Recording,
    variables: Mapping[str, object] | None = None,
    *,
    sandbox: bool = False,
    trust: Trust = False,
) -> Scene:
    """The scene as it was when the recording began; its files are where they were then.

    The sandbox is the recording's own folder: the one that a recording names is not trusted.

    Raises:
        RecordingError: the recording has no scene, or a sandbox does not hold it.
        SceneError: it cannot be read.
    """
    text = str(recording.attributes.get("scene", ""))
    if not text:
        raise RecordingError(
            f"{recording.path}: does not name the scene it was made in; choose one: "
            "--scene SCENE, or drop it on a robot in the editor"
        )
    name = str(recording.attributes.get("scene_file", ""))
    folders = _folders(recording)
    root: Path | bool = False
    if sandbox:
        root = recording.path.resolve().parent
        folders = _admitted(recording, folders, name, Sandbox.at(root))
    folder = next((f for f in folders if name and os.path.isfile(f / name)), folders[0])
    if name and os.path.isfile(folder / name):  # unchanged: the file, which reports name
        scene = Scene.load(folder / name, vars=variables, sandbox=root, trust=trust)
        if scene.to_text() == text:
            return scene
    return Scene.parse(text, folder, vars=variables, sandbox=root, trust=trust)


def _admitted(recording: Recording, folders: list[Path], name: str, sandbox: Sandbox) -> list[Path]:
    if not sandbox.holds(folders[0]):
        raise RecordingError(
            f"{recording.path}: was made in a scene in {str(folders[0])!r}, which "
            f"{sandbox.outside()}; choose a scene: --scene SCENE"
        )
    return [folder for folder in folders if sandbox.holds(folder / name)] or [sandbox.root]


def _folders(recording: Recording) -> list[Path]:
    """Candidate paths of the scene: the original one, or beside or above a moved recording."""
    here = recording.path.resolve().parent
    return [here / str(recording.attributes.get("scene_folder", "")), here, here.parent]
