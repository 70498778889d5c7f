"""Remedies that the scene takes: by its own names of actors, each tried on a copy."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from mjrig.check.finding import Finding
from mjrig.check.remedy import Remedy, SceneEdit, combined
from mjrig.errors import MjrigError
from mjrig.scene_edit.scene import Scene
from mjrig.sim.world import World


def applicable(world: World, found: Sequence[Finding]) -> list[Finding]:
    """The findings with those remedies that can be made; if none can, with the reason."""
    if not any(finding.remedies for finding in found):
        return list(found)
    scene, reading = world.scene, world.scene.reading
    try:
        copy = Scene.parse(
            scene.to_text(),
            scene.base,
            vars=dict(reading.vars),
            sandbox=reading.sandbox.root if reading.sandbox is not None else False,
            trust=reading.trusted,
        )
    except MjrigError:  # made by a program of parts that no file can name
        return list(found)
    names = dict(_names(world))
    return [_kept(finding, copy, names) for finding in found]


def _names(world: World) -> Iterator[tuple[str, str]]:
    """Names of actors in the world, and in the scene: copies have the name of their original."""
    known = world.scene.actor_names()
    for name, placed in zip(world.articulations, world.placements.actors, strict=True):
        own = placed.scene is world.scene
        described = [placed.original.name] if own else [n for n in known if name.startswith(n)]
        yield name, name if name in known else max(described, key=len, default=name)


def _kept(finding: Finding, copy: Scene, names: dict[str, str]) -> Finding:
    kept: list[Remedy] = []
    why = finding.by_hand
    for remedy in finding.remedies:
        # Copies of one actor are one in the scene: what is said of each is done once.
        here = combined([replace(remedy, edits=tuple(_renamed(e, names) for e in remedy.edits))])
        try:
            _try(here, copy)
            kept.append(here)
        except MjrigError as error:
            why = why or str(error)
    return replace(finding, remedies=tuple(kept), by_hand="" if kept else why)


def _renamed(edit: SceneEdit, names: dict[str, str]) -> SceneEdit:
    head, dot, rest = edit.path.partition(".")
    return replace(edit, path=f"{names.get(head, head)}{dot}{rest}")


class _Tried(Exception):
    """Takes an edit back that was only tried."""


def _try(remedy: Remedy, scene: Scene) -> None:
    try:
        with scene.changes():
            remedy.apply(scene)
            raise _Tried
    except _Tried:
        pass
