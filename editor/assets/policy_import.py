"""A policy dropped on an actor: the same import as `mjrig import`, then one edit of the scene."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mjrig.components.importers.policy_import import Imported, RefusedError, import_policy
from mjrig.components.importers.sources.overrides import Overrides
from mjrig.components.importers.yaml_writer import (
    motion_of,
    relative,
    scene_data,
    write_policy,
)
from mjrig.core.control.controller import ArticulationController
from mjrig.core.control.policy import PolicyComponent
from mjrig.core.errors import BindingError, MjrigError
from mjrig.core.model.model_source import find_in_menagerie, is_in_menagerie
from mjrig.core.scene.editing.scene import Actor, Scene
from mjrig.editor.assets.file_kinds import reference
from mjrig.editor.session.state import EditorState
from mjrig.editor.session.user_files import free_file
from mjrig.editor.text import error_text, tr
from mjrig.lab.replay.policy_loop import commands

FOLDER = "policies"
#: Stack of files that are a policy.yaml already.
OWN = "mjrig"
#: Properties of the starting state that an import replaces.
_START = ("keyframe", "joints", "free_bodies")
#: Properties of the plant that an import brings along where its files describe it.
_PLANT = ("dynamics", "actuators")


@dataclass(frozen=True)
class Offer:
    """The result of an import; `refused` is why it cannot be accepted."""

    actor: str
    imported: Imported
    refused: str = ""

    @property
    def stack(self) -> str:
        """Where the files come from."""
        return self.imported.found.stack

    @property
    def is_own(self) -> bool:
        """Whether it is a policy.yaml already, and is used as it is."""
        return self.stack == OWN and self.imported.source.overrides == Overrides()

    @property
    def timestep(self) -> float:
        """The physics timestep it was made for [s]."""
        return self.imported.timing[0]

    @property
    def described(self) -> Mapping[str, Any]:
        """The actor of the scene that `mjrig import` would write."""
        actor: Mapping[str, Any] = scene_data(self.imported, "")["actors"][0]
        return actor

    @property
    def has_plant(self) -> bool:
        """Whether it says how joints are actuated."""
        return any(key in self.described for key in _PLANT)

    @property
    def options(self) -> dict[str, Any]:
        """Options of the simulation it was trained with, besides the timestep."""
        said = self.imported.found.sim
        return {key: value for key, value in said.items() if key != "timestep"}

    @property
    def controllers(self) -> list[dict[str, Any]]:
        """The controllers it brings along."""
        return [c for c in self.described["components"] if c["type"] != "Policy"]


def model_of(actor: Actor) -> Path:
    """The model file of an actor.

    Raises:
        MjrigError: it has none, or it is not there.
    """
    if actor.model is None:
        raise BindingError(tr("{name!r} has no model for a policy to control", name=actor.name))
    if is_in_menagerie(actor.model):
        return find_in_menagerie(actor.model)
    return actor.find_file(actor.model)


def look_at(
    files: Sequence[Path], actor: str, model: Path, said: Mapping[str, str] | None = None
) -> Offer:
    """Import into a temporary folder, to see whether it fits; for a background thread.

    `said` are the user's texts by option of `mjrig import`.

    Raises:
        MjrigError: the files hold nothing that can be imported.
    """
    with TemporaryDirectory(prefix="mjrig-import-") as folder:
        try:
            scene, overrides = Path(folder, "scene.yaml"), Overrides.parse(said or {})
            imported = import_policy(files, None, model, scene, overrides=overrides)
            return Offer(actor, imported, imported.found.gap)
        except RefusedError as error:
            return Offer(actor, error.imported, error_text(error))


# What it would change ---------------------------------------------------------------------------


def changes(state: EditorState, offer: Offer) -> list[str]:
    """What accepting it changes in the scene, as lines of text."""
    actor = state.scene[offer.actor]
    gone, off = _leaving(actor, offer)
    said = [
        tr("{controller} with the policy's gains", controller=c["type"]) for c in offer.controllers
    ]
    lines = [tr("add {names}", names=", ".join([*said, "Policy"]))]
    lines += [tr("remove {label}", label=c.label) for c in gone]
    lines += [tr("disable {label}", label=c.label) for c in off]
    if offer.has_plant:
        lines.append(tr("actuators and joints as in the policy's training"))
    lines += [tr("sim.{key}: {value}", key=k, value=v) for k, v in offer.options.items()]
    lines += [tr("start in the policy's pose")] if any(k in offer.described for k in _START) else []
    now = state.simulation.world.timestep
    if abs(now - offer.timestep) > 1e-12:
        lines.append(
            tr(
                "sim.timestep: {now:g} to {timestep:g} s, for the whole scene",
                now=now,
                timestep=offer.timestep,
            )
        )
    if not offer.is_own:
        lines.append(tr("write {path}", path=policy_path(state, offer)))
    return lines


def _leaving(actor: Actor, offer: Offer) -> tuple[list[Any], list[Any]]:
    """Components that are removed, and those that are disabled: they would command too."""
    gone: list[Any] = []
    off: list[Any] = []
    for component in actor.components:
        if isinstance(component, PolicyComponent):
            gone.append(component)
        elif isinstance(component, ArticulationController):
            gone += [component] if offer.controllers or offer.has_plant else []
        elif commands(component) and component.__dict__.get("enabled"):
            off.append(component)
    return gone, off


def policy_path(state: EditorState, offer: Offer) -> Path:
    """Where the policy file goes: into a folder beside the scene."""
    scene = state.scene.path
    folder = scene.resolve().parent if scene is not None else Path.cwd()
    return free_file(folder / FOLDER, f"{offer.actor}-{offer.stack}", ".yaml")


# Accepting it -----------------------------------------------------------------------------------


def accept(state: EditorState, offer: Offer) -> None:
    """Write the policy file and change the actor: one edit, or none and no file.

    Raises:
        MjrigError: the import was refused, or the world refuses it.
    """
    if offer.refused:
        raise BindingError(offer.refused)
    own = next((c.path for c in offer.imported.source.configs if offer.is_own), None)
    path = own or _write(policy_path(state, offer), offer)
    try:
        with state.session.edit(
            tr("Import {name} to {actor}", name=path.name, actor=offer.actor)
        ) as scene:
            _apply(scene, offer, reference(path, scene), state.simulation.world.timestep)
    except BaseException:
        if own is None:
            path.unlink(missing_ok=True)
            motion_of(path).unlink(missing_ok=True)
        raise
    state.selection.only(f"{offer.actor}.Policy")
    if (
        state.simulation.frame.steps == 0
    ):  # it still stands where it began: begin as the policy does
        state.simulation.reset()


def _write(path: Path, offer: Offer) -> Path:
    imported = offer.imported
    source = imported.source
    assert source.network is not None
    network = relative(source.network.path, path.parent)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_policy(path, imported, network)
    except OSError as error:
        raise MjrigError(
            tr("{path}: cannot be written: {reason}", path=path, reason=error.strerror)
        ) from error
    return path


def _apply(scene: Scene, offer: Offer, file: str, timestep: float) -> None:
    actor = scene[offer.actor]
    if abs(timestep - offer.timestep) > 1e-12:
        scene.set("sim.timestep", offer.timestep)
    gone, off = _leaving(actor, offer)
    kept = []
    for component in actor.components:
        if component not in gone:
            data = component.to_data()
            kept.append({**data, "enabled": False} if component in off else data)
    policy = {"type": "Policy", "file": file}
    start = offer.described
    plant = {key: start[key] for key in _PLANT if key in start}
    actor.assign({**plant, "components": [*offer.controllers, *kept, policy]})
    for key, value in offer.options.items():
        scene.set(f"sim.{key}", value)
    if not any(key in start for key in _START):
        return
    for key in _START:
        if key not in start:
            actor.unset(key)
    actor.assign({key: _lowered(start[key], actor) for key in _START if key in start})


def _lowered(value: Any, actor: Actor) -> Any:
    """Free bodies start in the actor's own frame; an import has them over the floor."""
    if not isinstance(value, list) or actor.pose is None:
        return value
    height = float(actor.pose.position[2])
    found = []
    for body in value:
        x, y, z = body["position"]
        found.append({**body, "position": [x, y, z - height]})
    return found
