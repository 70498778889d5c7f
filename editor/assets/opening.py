"""Open a file in the editor: a scene as it is, a model as a new scene around it.

A recording opens the scene it was made in.
"""

from contextlib import suppress
from pathlib import Path

from mjrig.editor.session.user_files import trust_store
from mjrig.editor.texts.texts import tr
from mjrig.errors import MjrigError, SceneError
from mjrig.files.trust import trusted_folders
from mjrig.recording.reading import read_recording
from mjrig.recording.recorded_scene import scene_of
from mjrig.scene.actor import MODELS
from mjrig.scene.include import SCENES
from mjrig.scene.load_context import Trust
from mjrig.scene_edit.actor import Actor
from mjrig.scene_edit.references import KEYFRAME, kept_names
from mjrig.scene_edit.scene import Scene
from mjrig.sim.stance import HOME
from mjrig.sim2sim.folder import SUFFIXES

_POLICIES = (".onnx", ".pt")


def is_recording(path: Path) -> bool:
    """Whether a file may hold a recording, by its name."""
    return path.suffix.lower() in SUFFIXES


def open_file(path: Path | None, trust: Trust = False) -> Scene:
    """The scene a file stands for; none: an empty one.

    Args:
        path: the file.
        trust: run code beside the scene, also in folders the user has not trusted yet.

    Raises:
        UntrustedError: it has types in modules of a folder that is not trusted.
        SceneError: it cannot be read, or is of an unsupported kind.
    """
    if path is None:
        return Scene()
    trusted = trust or trusted_folders(trust_store())
    suffix = path.suffix.lower()
    if is_recording(path):
        return scene_of(read_recording(path), trust=trusted)
    if suffix in _POLICIES:
        raise SceneError(
            tr("{path}: is a network; open its robot's scene and drop it on the robot", path=path)
        )
    if path.is_dir() or suffix not in (*SCENES, *MODELS, ""):
        known = ", ".join((*SCENES, *MODELS, *SUFFIXES))
        raise SceneError(
            tr("{path}: cannot be opened; the editor opens {known}", path=path, known=known)
        )
    scene = Scene.load(path, trust=trusted)
    if scene.model_file is not None:
        _start_well(scene.actors[0], path)
    return scene


def _start_well(actor: Actor, model: Path) -> None:
    """A model by itself starts as one that is dropped: in its home keyframe, if it has one."""
    actor.model = model.absolute()  # in full, until the scene is saved: it has no folder yet
    with suppress(MjrigError):  # building its world will tell
        if HOME in kept_names(actor)[KEYFRAME]:
            actor.keyframe = HOME
