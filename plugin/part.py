"""Part: one actor on its way into the world."""

from functools import cached_property
from typing import Any

import mujoco

from mjrig.actor import Actor
from mjrig.actor_model import locate
from mjrig.authoring import add_actuators
from mjrig.binding import unique
from mjrig.errors import PropertyError
from mjrig.initial_state import with_states
from mjrig.keyframes import model_keys
from mjrig.model_edits import edit_model, roots
from mjrig.model_references import Element, find_elements
from mjrig.model_source import load, one_line
from mjrig.names import listed
from mjrig.placement import Placed
from mjrig.pose import Rigid


class Part:
    """An actor with its own spec, edited as the scene says, and what is known of it alone.

    Raises:
        PropertyError, BindingError: the model cannot be read, or does not fit the description.
    """

    def __init__(self, placed: Placed) -> None:
        self.placed = placed
        self.actor: Actor = placed.item
        self.name = placed.name
        self.spec = load(self.actor)
        _name_everything(self.spec)
        with self.blaming_model():
            keys = model_keys(self.spec)
        for key in self.spec.keys:  # their columns would not fit the edited model
            key.qpos, key.qvel, key.act, key.ctrl, key.mpos, key.mquat = ([] for _ in range(6))
        edits = edit_model(self.spec, self.actor)
        #: The keyframes of the model, after the edits.
        self.keys = {
            new: key.edited(edits.name)
            for old, key in keys.items()
            if (new := edits.name("key", old)) is not None
        }
        for key in list(self.spec.keys):  # they live on by name: attaching cannot keep them apart
            self.spec.delete(key)
        self.spec.nkey = 0
        add_actuators(self.spec, self.actor)
        _name_everything(self.spec)

    def blaming_model(self) -> "_BlamingModel":
        """Turn MuJoCo's errors into errors about the actor's model."""
        return _BlamingModel(self.actor)

    @cached_property
    def alone(self) -> Any:
        """The compiled model of this actor alone, its origin that of the world."""
        copied = self.spec.copy()
        copied.compiler.fusestatic = False
        with self.blaming_model():
            return copied.compile()

    @cached_property
    def start(self) -> Any:
        """The data of this actor alone in its initial state."""
        where = locate(self.alone, self.name, "")
        state = with_states(self.alone, where, self.actor, self.keys, Rigid.identity()).initial
        data = mujoco.MjData(self.alone)
        data.qpos[where.qpos] = state.qpos
        data.mocap_pos[where.mocap], data.mocap_quat[where.mocap] = (
            state.mocap_pos,
            state.mocap_quat,
        )
        mujoco.mj_kinematics(self.alone, data)
        return data

    def place(self, name: str) -> Element:
        """A body or site by local name.

        Raises:
            PropertyError: there is none.
        """
        return find_elements(self.spec, name, ("body", "site"), repr(self.name))[0]

    def root(self) -> Element:
        """The body that stands for the whole actor.

        Raises:
            PropertyError: there is more than one, or none.
        """
        found = roots(self.spec)
        if len(found) != 1:
            names = listed(f"{self.name}/{b.name}" for b in found)
            problem = f"{self.name!r} has {len(found)} root bodies; name one: {names}"
            raise PropertyError(problem)
        return Element("body", found[0])

    def moves(self, body: Any) -> bool:
        """Whether a body of its spec can move against the model's origin."""
        while body is not None and body.name != "world":
            if body.joints or body.mocap:
                return True
            body = body.parent
        return False


class _BlamingModel:
    def __init__(self, actor: Actor) -> None:
        self._actor = actor

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if isinstance(error, Exception) and not isinstance(error, PropertyError):
            text = f"{self._actor.label}.model: {one_line(error)}"
            raise PropertyError(text, ("model",)) from error


def _name_everything(spec: Any) -> None:
    """Name what has no name, so that a prefix finds it."""
    _name_all(spec.bodies, lambda body: "body")
    _name_all(spec.joints, lambda joint: joint.parent.name)
    _name_all(spec.actuators, lambda actuator: actuator.target or "actuator")
    _name_all(spec.keys, lambda key: "key")


def _name_all(elements: Any, name: Any) -> None:
    taken = {e.name for e in elements if e.name}
    for element in elements:
        if not element.name:
            element.name = unique(name(element), taken)
            taken.add(element.name)
