"""Part: the spec of one actor, before it is attached to the world."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import mujoco

from mjrig.actuators.native_actuator import NativeActuator, NativeActuators
from mjrig.actuators.native_joint import NativeJoint, NativeJoints
from mjrig.errors import LocatedError, PropertyError
from mjrig.model.actor_model import locate
from mjrig.model.initial_state import with_states
from mjrig.model.model_edits import Edits, edit_model, empty_keys, roots, set_inertias
from mjrig.model.model_keys import model_keys
from mjrig.model.model_references import ModelElement, find_elements, name_everything
from mjrig.model.motor_edits import apply_motors
from mjrig.model.write_actuators import add_actuators
from mjrig.model_files.model_source import load, one_line
from mjrig.model_files.remedy import remedy
from mjrig.model_files.total_mass import scale_total_mass
from mjrig.names import listed
from mjrig.scene.actor import ActorDescription
from mjrig.scene.included import Placed
from mjrig.scene.pose import Rigid


class Part:
    """An actor with its own spec, edited as the scene describes, before attaching.

    Args:
        placed: the actor.
        named: gives the bodies of it that other actors and frames refer to.
        compile_keys: compile a model that has keyframes, even if they can be read without.

    Raises:
        PropertyError, BindingError: the model cannot be read, or does not fit the description.
    """

    def __init__(
        self,
        placed: Placed,
        named: Callable[[], Collection[str]] = tuple,
        *,
        compile_keys: bool = False,
    ) -> None:
        self.placed = placed
        self.actor: ActorDescription = placed.item
        self.name = placed.name
        self.spec = load(self.actor, named)
        name_everything(self.spec)
        with self.blaming_model():
            keys = model_keys(self.spec, compiling=compile_keys)
        empty_keys(self.spec)
        edits = edit_model(self.spec, self.actor)
        #: The keyframes of the model, after the edits.
        self.keys = {
            new: key.edited(edits.name)
            for old, key in keys.items()
            if (new := edits.name("key", old)) is not None
        }
        for key in list(self.spec.keys):  # kept by name: attaching cannot keep them apart
            self.spec.delete(key)
        self.spec.nkey = 0
        #: What became of the authored actuators.
        self.authored = add_actuators(self.spec, self.actor)
        self.keys = {n: k.without_controls(self.authored.changed) for n, k in self.keys.items()}
        if self.actor.actuators:
            name_everything(self.spec)
        #: The motors of its joints, by joint.
        self.motors = apply_motors(self.spec, self.actor, edits, self.authored)
        #: What a scene can change of its joints, in the model and here.
        self.joints = NativeJoints(self._joints_now(edits), edits.joints)
        #: Its actuators and their gains, in the model and here.
        self.actuators = NativeActuators(
            self._actuators_now(edits),
            edits.actuators,
            frozenset(n for names in self.authored.names for n in names if n in edits.actuators),
        )
        with self.blaming_model():
            scale_total_mass(self.spec)
        if self.actor.bodies is not None:
            with self.blaming_model():
                set_inertias(self.spec, self.actor)

    def _joints_now(self, edits: Edits) -> dict[str, NativeJoint]:
        """Read again only where the scene has changed some."""
        if self.actor.dynamics is None and not (self.actor.actuators or self.motors):
            return dict(edits.joints)
        return {j.name: NativeJoint.of(j) for j in self.spec.joints}

    def _actuators_now(self, edits: Edits) -> dict[str, NativeActuator]:
        if self.actor.native_gains is None and not (self.actor.actuators or self.motors):
            return dict(edits.actuators)
        return {a.name: NativeActuator.of(a) for a in self.spec.actuators}

    @contextmanager
    def blaming_model(self) -> Iterator[None]:
        """Turn MuJoCo's errors into errors about the actor's model."""
        try:
            yield
        except LocatedError:
            raise
        except Exception as error:  # MuJoCo raises ValueError, mujoco.FatalError and others
            way = remedy(self.actor)
            text = f"{self.actor.label}.model: {one_line(error)}{f'; {way}' if way else ''}"
            raise PropertyError(text, ("model",)) from error

    @cached_property
    def alone(self) -> Any:
        """The compiled model of this actor alone, its origin that of the world."""
        return self.compiled_alone()

    def compiled_alone(self) -> Any:
        """Compile this actor alone, as it is now."""
        with self.blaming_model():
            return self.spec.copy().compile()

    @cached_property
    def start(self) -> Any:
        """The data of this actor alone in its initial state."""
        where = locate(self.alone, self.name, "")
        data = mujoco.MjData(self.alone)
        origin = Rigid.identity()
        known = with_states(self.alone, lambda: data, where, self.actor, self.keys, origin)
        state = known.initial
        data.qpos[where.qpos] = state.qpos
        data.mocap_pos[where.mocap], data.mocap_quat[where.mocap] = (
            state.mocap_pos,
            state.mocap_quat,
        )
        mujoco.mj_kinematics(self.alone, data)
        return data

    def place(self, name: str) -> ModelElement:
        """A body or site by local name.

        Raises:
            PropertyError: there is none.
        """
        return find_elements(self.spec, name, ("body", "site"), repr(self.name))[0]

    def root(self) -> ModelElement:
        """The root body of the actor.

        Raises:
            PropertyError: there is more than one, or none.
        """
        found = roots(self.spec)
        if len(found) != 1:
            names = listed(f"{self.name}/{b.name}" for b in found)
            problem = f"{self.name!r} has {len(found)} root bodies; name one: {names}"
            raise PropertyError(problem)
        return ModelElement("body", found[0])
