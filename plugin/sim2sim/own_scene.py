"""The scene a recording was made in."""

from collections.abc import Mapping
from pathlib import Path

from mjrig.errors import RecordingError
from mjrig.recording.recording import Recording
from mjrig.scene import Scene


def scene_of(recording: Recording, variables: Mapping[str, object] | None = None) -> Scene:
    """The scene as it was when the recording began; its files are where they were then.

    Raises:
        RecordingError: the recording has no scene.
        SceneError: it cannot be read.
    """
    text = str(recording.attributes.get("scene", ""))
    if not text:
        raise RecordingError(
            f"{recording.path}: does not say in which scene it was made; say --scene SCENE"
        )
    folder = recording.path.parent / str(recording.attributes.get("scene_folder", ""))
    name = Path(str(recording.attributes.get("scene_file", "")))
    file = folder / name
    scene = Scene.parse(text, folder, vars=variables)
    if name.name and file.is_file():  # unchanged since, it is the file: reports name it
        there = Scene.load(file, vars=variables)
        if there.to_text() == text:
            return there
    return scene
