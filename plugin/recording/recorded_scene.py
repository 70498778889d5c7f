"""The scene a recording was made in."""

from collections.abc import Mapping
from pathlib import Path

from mjrig.errors import RecordingError
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

    Raises:
        RecordingError: the recording has no scene.
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
    folder = next((f for f in folders if name and (f / name).is_file()), folders[0])
    if name and (folder / name).is_file():  # unchanged: the file, which reports name
        scene = Scene.load(folder / name, vars=variables, sandbox=sandbox, trust=trust)
        if scene.to_text() == text:
            return scene
    return Scene.parse(text, folder, vars=variables, sandbox=sandbox, trust=trust)


def _folders(recording: Recording) -> list[Path]:
    """Candidate paths of the scene: the original one, or beside or above a moved recording."""
    here = recording.path.resolve().parent
    return [here / str(recording.attributes.get("scene_folder", "")), here, here.parent]
