"""An actor's model as an MjSpec, from a file or a prop, and attributes that make it compile."""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import mujoco

from mjrig.core.errors import MissingExtraError, PropertyError
from mjrig.core.files.paths import Gate, is_in_package
from mjrig.core.files.referenced_files import check_regular
from mjrig.core.model.asset_files import check_assets
from mjrig.core.model.compiler_settings import (
    FOLDERS,
    is_urdf,
    read_spec,
    set_compiler,
    settle,
    texts,
)
from mjrig.core.model.menagerie import find_in_menagerie, is_in_menagerie
from mjrig.core.model.model_size import check_size
from mjrig.core.model.urdf import find_meshes
from mjrig.core.scene.actor_description import ActorDescription
from mjrig.core.scene.mujoco_options import check_iterations

# Model source -------------------------------------------------------------------------------------
# Where an actor's model comes from: a file or a prop, as an MjSpec.


ARCHIVES = (".mjz", ".zip")
BINARY = ".mjb"
_ADVICE = {
    "larger than mjMINVAL": "give it an <inertial>, or geoms with mass",
    "positive eigenvalues": "a real body has three positive principal moments",
}


def load(
    actor: ActorDescription,
    named: Callable[[], Collection[str]] = tuple,
    *,
    compiler: Mapping[str, Any] | None = None,
) -> Any:
    """The spec of an actor's model, from its file or prop; every file it needs exists.

    Args:
        actor: its `compiler` overrides the attributes of the file.
        named: gives the bodies that others refer to; they are not fused with their parents.
        compiler: attributes to try in place of the actor's own.

    Raises:
        PropertyError: a file is missing, or MuJoCo cannot read it.
    """
    if actor.prop is not None:
        return _filled(actor)
    path, gate = model_file(actor), _gate(actor)
    if path.suffix.lower() == BINARY:
        problem = "an .mjb is already compiled: it must be the only actor and cannot be edited"
        raise PropertyError(f"{actor.label}.model: {problem}", ("model",))
    given = given_compiler(actor) if compiler is None else compiler
    gate = _gate_of_folders(actor, path, given) or gate
    try:
        is_archive = path.suffix.lower() in ARCHIVES
        if not is_archive:
            check_regular(path)
        check_size(path, is_archive=is_archive)
        urdf = is_urdf(path)
        spec = read_spec(path, given, urdf=urdf)
        check_iterations(spec.option)
    except PropertyError as error:
        raise PropertyError(f"{actor.label}.model: {error}", ("model",)) from None
    except Exception as error:  # MuJoCo raises ValueError, mujoco.FatalError and others
        said = f"{path.name!r}: {one_line(error)}"
        raise PropertyError(f"{actor.label}.model: {said}", ("model",)) from error
    try:
        if urdf:
            find_meshes(spec, path, gate)
        if path.suffix.lower() not in ARCHIVES:
            check_assets(spec, path, gate)
    except (PropertyError, MissingExtraError) as error:
        raise PropertyError(f"{actor.label}.model: {error}", ("model",)) from None
    try:
        settle(spec, lambda: {*named(), *texts(actor.to_data())})
    except Exception as error:
        raise PropertyError(f"{actor.label}.model: {one_line(error)}", ("model",)) from error
    return spec


def _gate_of_folders(actor: ActorDescription, path: Path, given: Mapping[str, Any]) -> Gate | None:
    """The gate, if the scene names folders that it did not see when it admitted the model.

    Raises:
        PropertyError: it refuses one.
    """
    gate, folders = actor.gate(), [name for name in given if name in FOLDERS]
    if gate is None or not folders:
        return None
    for name in folders:
        try:
            gate.admit(path.parent / given[name], given[name])
        except PropertyError as error:
            at = ("compiler", name)
            raise PropertyError(f"{actor.label}.compiler.{name}: {error}", at) from None
    return gate


def given_compiler(actor: ActorDescription) -> dict[str, Any]:
    """The compiler attributes that a scene gives an actor."""
    return dict(actor.compiler.given()) if actor.compiler is not None else {}


def model_file(actor: ActorDescription) -> Path:
    """The file of an actor's model.

    Raises:
        PropertyError: there is none; the message lists where it was searched.
    """
    assert actor.model is not None
    try:
        if is_in_menagerie(actor.model):
            path = find_in_menagerie(actor.model, gate := actor.gate())
            if gate is not None:
                gate.admit(path, actor.model)
                gate.admit_model(path)
            return path
        return actor.find_file(actor.model)
    except PropertyError as error:
        raise PropertyError(f"{actor.label}.model: {error}", ("model",)) from None


def _gate(actor: ActorDescription) -> Gate | None:
    """What decides about the files that a model names; mjrig's own models may name any."""
    return None if actor.model is None or is_in_package(actor.model) else actor.gate()


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
    set_compiler(spec, given_compiler(actor))
    try:
        result: object = actor.prop.fill(spec)  # type: ignore[func-returns-value]
        if isinstance(result, mujoco.MjSpec) and result is not spec:
            raise PropertyError(
                f"{actor.prop.label}: {type(actor.prop).__name__}.fill returned another spec; "
                "add the elements to `spec` instead"
            )
    except PropertyError as error:
        raise error.below("prop") from None
    return spec


# Remedy -------------------------------------------------------------------------------------------
# What compiler attributes would make a model compile that MuJoCo refuses.


#: Words of MuJoCo's message, and the attributes that help.
_HELP: dict[str, dict[str, Any]] = {
    "balanceinertia": {"balanceinertia": "true"},
    "mjMINVAL": {"boundmass": 0.001, "boundinertia": 1e-06},
}


def remedy(actor: ActorDescription) -> str:
    """The line for the scene that makes an actor's model compile, tried out; empty: there is none.

    Attributes that the scene gives already are part of the line.
    """
    if actor.model is None or is_binary(actor):
        return ""
    compiler = given_compiler(actor)
    tried: set[str] = set()
    while True:
        try:
            load(actor, compiler=compiler).compile()
        except PropertyError:
            return ""
        except Exception as error:  # MuJoCo raises ValueError, mujoco.FatalError and others
            words = next((w for w in _HELP if w in str(error) and w not in tried), None)
            if words is None:
                return ""
            tried.add(words)
            compiler |= _HELP[words]
        else:
            break
    if not tried:
        return ""
    line = ", ".join(f"{name}: {_text(value)}" for name, value in compiler.items())
    return f"it compiles with the actor's `compiler: {{{line}}}`"


def _text(value: Any) -> str:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else str(value)
