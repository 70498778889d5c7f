"""Where an actor's model comes from: a file or a prop, as an MjSpec."""

from pathlib import Path
from typing import Any

import mujoco

from mjrig.errors import PropertyError
from mjrig.files.file_content import Content, content_of, head_of, root_element
from mjrig.files.paths import read_limited
from mjrig.files.referenced_files import MAX_BYTES
from mjrig.model_files.asset_files import check_assets
from mjrig.model_files.menagerie import find_in_menagerie, is_in_menagerie
from mjrig.model_files.urdf import find_meshes
from mjrig.scene.actor import ActorDescription

ARCHIVES = (".mjz", ".zip")
BINARY = ".mjb"
#: Suffixes by which MuJoCo knows its models.
_READABLE = (".xml", ".urdf", ".mjz", ".zip")
_ADVICE = {
    "balanceinertia": "in a URDF: <mujoco><compiler balanceinertia='true'/></mujoco>",
    "larger than mjMINVAL": "give it an <inertial>, or geoms with mass",
    "positive eigenvalues": "a real body has three positive principal moments",
}


def load(actor: ActorDescription) -> Any:
    """The spec of an actor's model, from its file or prop; every file it needs exists.

    Raises:
        PropertyError: a file is missing, or MuJoCo cannot read it.
    """
    if actor.prop is not None:
        return _filled(actor)
    path = model_file(actor)
    if path.suffix.lower() == BINARY:
        problem = "an .mjb is already compiled: it must be the only actor and cannot be edited"
        raise PropertyError(f"{actor.label}.model: {problem}", ("model",))
    try:
        spec = _read(path)
    except Exception as error:  # MuJoCo raises ValueError, mujoco.FatalError and others
        raise PropertyError(f"{actor.label}.model: {one_line(error)}", ("model",)) from error
    try:
        if root_element(head_of(path)) == "robot":
            find_meshes(spec, path)
        if path.suffix.lower() not in ARCHIVES:
            check_assets(spec, path)
    except PropertyError as error:
        raise PropertyError(f"{actor.label}.model: {error}", ("model",)) from None
    return spec


def _read(path: Path) -> Any:
    """The spec of a file, whatever its name; MuJoCo itself goes by the suffix, in lower case."""
    # NOTE: absolute, or files named in an included file are looked for in the wrong folder.
    name = str(path.absolute())
    if path.suffix in _READABLE or content_of(path) is not Content.XML:
        return mujoco.MjSpec.from_file(name)
    alias = f"{name}.xml"  # in the same folder, for the files it includes
    return mujoco.MjSpec.from_file(alias, include={alias: read_limited(path, MAX_BYTES)})


def model_file(actor: ActorDescription) -> Path:
    """The file of an actor's model.

    Raises:
        PropertyError: there is none; the message lists where it was searched.
    """
    assert actor.model is not None
    try:
        if is_in_menagerie(actor.model):
            return find_in_menagerie(actor.model)
        return actor.find_file(actor.model)
    except PropertyError as error:
        raise PropertyError(f"{actor.label}.model: {error}", ("model",)) from None


def is_binary(actor: ActorDescription) -> bool:
    """Whether an actor's model is already compiled."""
    return actor.model is not None and actor.model.suffix.lower() == BINARY


def one_line(error: BaseException) -> str:
    """The message of an error on one line, with advice where MuJoCo's text is not enough."""
    text = " ".join(str(error).split())
    advice = next((a for words, a in _ADVICE.items() if words in text), "")
    return f"{text} ({advice})" if advice else text


def _filled(actor: ActorDescription) -> Any:
    """The spec a prop makes."""
    assert actor.prop is not None
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    try:
        actor.prop.fill(spec)
    except PropertyError as error:
        raise error.below("prop") from None
    return spec
