"""Frames of a scene: resolves attachments, frames and relative poses, in any order."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import mujoco

from mjrig.core.errors import PropertyError
from mjrig.core.model.actor_spec import Part
from mjrig.core.model.element_references import ModelElement, elements
from mjrig.core.names import suggestion
from mjrig.core.scene.includes import Placed
from mjrig.core.scene.pose import Rigid

WORLD = "world"


@dataclass(frozen=True)
class Place:
    """A frame fixed to a body of the world, and where it starts."""

    body: str
    #: In that body.
    pose: Rigid
    #: In the world, when everything is in its initial state.
    start: Rigid


_ORIGIN = Place(WORLD, Rigid.identity(), Rigid.identity())


class Places:
    """Resolves frames by name, whatever the order in the file."""

    def __init__(self, parts: Mapping[str, Part], frames: Mapping[str, Placed]) -> None:
        self._parts, self._frames = parts, frames
        self._known: dict[str, Place] = {}
        self._pending: list[str] = []

    def of_actor(self, name: str) -> Place:
        """Where the origin of an actor's model is.

        Raises:
            SceneError, PropertyError: it refers to something that does not exist, or to itself.
        """
        if name not in self._known:
            part = self._parts[name]
            with self._working_on(name), part.placed.locating():
                self._known[name] = self._attached(part) if part.actor.attach else self._put(part)
        return self._known[name]

    def of_frame(self, name: str) -> Place:
        """Where a frame of the scene is.

        Raises:
            SceneError, PropertyError: it refers to something that does not exist, or to itself.
        """
        if name not in self._known:
            frame = self._frames[name].item
            with self._working_on(name), self._frames[name].locating():
                base = self._find(frame.on, f"{frame.label}.on", ("on",))
                own = Rigid.of(frame)
                self._known[name] = Place(base.body, base.pose.then(own), base.start.then(own))
        return self._known[name]

    @contextmanager
    def _working_on(self, name: str) -> Iterator[None]:
        self._pending.append(name)
        try:
            yield
        finally:
            self._pending.pop()

    # Actors -------------------------------------------------------------------------------------

    def _put(self, part: Part) -> Place:
        """An actor on the world body; its pose may be relative to something that moves."""
        pose = Rigid.of(part.actor.pose)
        relative = part.actor.pose.relative_to if part.actor.pose else ""
        if relative:
            label = f"{part.actor.label}.pose.relative_to"
            pose = self._find(relative, label, ("pose", "relative_to")).start.then(pose)
        return Place(WORLD, pose, pose)

    def _attached(self, part: Part) -> Place:
        actor = part.actor
        assert actor.attach is not None
        if actor.pose is not None and actor.pose.relative_to:
            raise PropertyError(
                f"{actor.label}.pose.relative_to: {actor.label!r} is attached, its pose is the "
                f"offset from {actor.attach.to!r}",
                ("pose", "relative_to"),
            )
        base = self._find(actor.attach.to, f"{actor.label}.attach.to", ("attach", "to"))
        offset = Rigid.of(actor.pose).then(self._child(part).inverse())
        return Place(base.body, base.pose.then(offset), base.start.then(offset))

    def _child(self, part: Part) -> Rigid:
        """The body or site of an attached actor that is placed there, in its model's frame."""
        assert part.actor.attach is not None
        name = part.actor.attach.child
        if not name:
            return Rigid.identity()
        label, keys = f"{part.actor.label}.attach.child", ("attach", "child")
        try:
            element = part.place(name)
        except PropertyError as error:
            raise PropertyError(f"{label}: {error}", keys) from error
        body = element.handle if element.kind == "body" else element.handle.parent
        if body.name != WORLD:
            moving = _moving_above(body)
            if moving:
                raise PropertyError(
                    f"{label}: {name!r} can move against the root body of {part.name!r}, with "
                    f"joint {moving!r}",
                    keys,
                )
        data = mujoco.MjData(part.alone)
        mujoco.mj_kinematics(part.alone, data)
        return _pose_in(data, part.alone, element)

    # References ---------------------------------------------------------------------------------

    def _find(self, reference: str, label: str, keys: tuple[str, ...]) -> Place:
        """The frame of a reference: `world`, a frame, an actor, `actor/body`, `actor/site`."""
        first, slash, rest = reference.partition("/")
        if reference == WORLD:
            return _ORIGIN
        known = first in self._parts or (first in self._frames and not slash)
        if not known:
            hint = suggestion(reference, self._candidates())
            raise PropertyError(f"{label}: there is no {reference!r}; {hint}", keys)
        if first in self._pending:
            circle = [*self._pending[self._pending.index(first) :], first]
            raise PropertyError(f"{label}: is circular: {' → '.join(circle)}", keys)
        if first in self._frames:
            return self.of_frame(first)
        part = self._parts[first]
        try:
            element = part.place(rest) if slash else part.root()
        except PropertyError as error:
            raise PropertyError(f"{label}: {error}", keys) from error
        return self._of_element(part, element)

    def _candidates(self) -> list[str]:
        names = [WORLD, *self._frames, *self._parts]
        for part in self._parts.values():
            places = (e for e in elements(part.spec) if e.kind in ("body", "site") and e.name)
            names += [f"{part.name}/{e.name}" for e in places]
        return names

    def _of_element(self, part: Part, element: ModelElement) -> Place:
        """The place of a body or site of an actor."""
        origin = self.of_actor(part.name)
        with part.placed.locating():
            start = origin.start.then(_pose_in(part.start, part.alone, element))
        if element.kind == "body":
            return Place(f"{part.name}/{element.name}", Rigid.identity(), start)
        site = part.alone.site(element.name)
        local = Rigid(site.pos.copy(), site.quat.copy())
        if element.handle.parent.name == WORLD:  # the model's world body is its carrier
            return Place(origin.body, origin.pose.then(local), start)
        return Place(f"{part.name}/{element.handle.parent.name}", local, start)


def _pose_in(data: Any, model: Any, element: ModelElement) -> Rigid:
    """Where a body or site is, in computed data."""
    if element.kind == "body":
        body = data.body(element.name)
        return Rigid(body.xpos.copy(), body.xquat.copy())
    site = model.site(element.name)
    body = data.body(int(site.bodyid[0]))
    parent = Rigid(body.xpos.copy(), body.xquat.copy())
    return parent.then(Rigid(site.pos.copy(), site.quat.copy()))


def _moving_above(body: Any) -> str:
    """The joint that moves a body against the root of its tree; empty: none."""
    while body.parent is not None and body.parent.name != WORLD:
        if body.joints:
            return str(body.joints[0].name)
        body = body.parent
    return ""
