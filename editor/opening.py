"""Open a file in the editor: a scene as it is, a model as a new scene around it."""

from pathlib import Path

from mjrig.actor import MODELS
from mjrig.editor.drop_names import actor_name
from mjrig.errors import SceneError
from mjrig.scene import Scene
from mjrig.scene_parts import SCENES

_RECORDINGS = (".h5", ".npz", ".onnx")


def open_file(path: Path | None) -> Scene:
    """The scene a file stands for; none: an empty one.

    Raises:
        SceneError: it cannot be read, or is of no kind the editor opens.
    """
    if path is None:
        return Scene()
    suffix = path.suffix.lower()
    if suffix in SCENES:
        return Scene.load(path)
    if suffix in _RECORDINGS:
        raise SceneError(f"{path}: recordings and policies are opened by `mjrig replay`")
    if suffix not in MODELS:
        known = ", ".join((*SCENES, *MODELS))
        raise SceneError(f"{path}: is of no kind the editor opens; those are {known}")
    if not path.is_file():
        raise SceneError(f"{path}:1:1: there is no such file")
    scene = Scene()
    scene.add_actor(actor_name(str(path.resolve()), ()), model=path.resolve())
    return scene
