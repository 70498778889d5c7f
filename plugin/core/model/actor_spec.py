"""The MjSpec of one actor, and its frame in the world."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import mujoco

from mjrig.core.errors import BindingError, LocatedError, MotorError, PropertyError
from mjrig.core.model.actuator_writing import Authored, add_actuators
from mjrig.core.model.binding import locate
from mjrig.core.model.element_references import (
    ModelElement,
    elements,
    find_elements,
    name_everything,
)
from mjrig.core.model.keyframes import model_keys, with_states
from mjrig.core.model.model_edits import (
    Edits,
    edit_model,
    empty_keys,
    override_dynamics,
    override_gains,
    roots,
    set_inertias,
)
from mjrig.core.model.model_source import load, one_line, remedy, scale_total_mass
from mjrig.core.names import listed, suggestion
from mjrig.core.pattern_program import pattern_budget
from mjrig.core.patterns import Slots
from mjrig.core.properties.per_actuator import DEFAULT
from mjrig.core.scene.actor_description import ActorDescription
from mjrig.core.scene.motor_file import Motor, MotorOnJoint, ServoForm, find_motor
from mjrig.core.scene.native_elements import (
    NativeActuator,
    NativeActuators,
    NativeJoint,
    NativeJoints,
)
from mjrig.core.scene.pose import Rigid
from mjrig.core.scene.scene_description import Placed

# Motor edits --------------------------------------------------------------------------------------
# Motors of an actor in its spec: armature and friction of joints, servos as position actuators.
#
# A motor's numbers come in place of the model's; what the scene says itself (`dynamics`,
# `native_gains`, properties of authored actuators) comes in place of the motor's.


#: What of a joint a motor decides.
OF_MOTORS = ("armature", "frictionloss", "damping")
_ON_JOINT = (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT)
_SINGLE = (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE)


def apply_motors(
    spec: Any, actor: ActorDescription, edits: Edits, authored: Authored
) -> dict[str, MotorOnJoint]:
    """Give the joints and actuators of a spec what the actor's `motors` say, by joint.

    `edits` then has the motors' numbers in place of the model's, so that later changes of
    `dynamics` and `native_gains` override these.

    Raises:
        PropertyError, BindingError: a pattern matches nothing, or there is no such motor.
    """
    if not actor.motors:
        return {}
    joints = {j.name: j for j in spec.joints if j.type in _SINGLE}
    driving = _driving(spec, joints)
    said = _said(actor, list(joints))
    found: dict[str, MotorOnJoint] = {}
    for name, motor in _chosen(actor, joints, driving).items():
        servo = motor.servo
        servos = [] if servo is None else [a for a in driving[name] if _is_servo(a)]
        own = frozenset(key for key, names in said.items() if name in names)
        found[name] = MotorOnJoint(motor, edits.joints[name], bool(servos), own)
        edits.joints[name] = _with_motor(edits.joints[name], motor, servo if servos else None)
        for element in servos:
            assert servo is not None
            _make_servo(element, servo, actor, edits, authored)
    for joint in override_dynamics(list(edits.joints.values()), actor):
        if joint.name in found:
            joint.write_to(joints[joint.name])
    own = {a.name for n in found for a in driving[n]} - {n for ns in authored.names for n in ns}
    _write_gains(spec, actor, edits, own)
    return found


def _driving(spec: Any, joints: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The actuators on each joint."""
    found: dict[str, list[Any]] = {name: [] for name in joints}
    for actuator in spec.actuators:
        if actuator.trntype in _ON_JOINT and actuator.target in found:
            found[actuator.target].append(actuator)
    return found


def _chosen(
    actor: ActorDescription, joints: Mapping[str, Any], driving: Mapping[str, Sequence[Any]]
) -> dict[str, Motor]:
    names = list(joints)
    aliases = [(name, *(a.name for a in driving[name])) for name in names]
    slots = Slots(aliases, actor.label, "joint or actuator")
    patterns = {p: motor for p, motor in actor.motors.items() if p != DEFAULT}
    try:
        chosen = {names[i]: said for i, said in slots.spread(patterns).items()}
    except BindingError as error:
        text = f"{actor.label}.motors: {error}"
        raise BindingError(text, ("motors",), at=error.at, about_key=error.about_key) from None
    if DEFAULT in actor.motors:
        rest = [name for name in names if driving[name] and name not in chosen]
        chosen |= {name: (DEFAULT, actor.motors[DEFAULT]) for name in rest}
    motors = {said: _found(actor, *said) for said in dict.fromkeys(chosen.values())}
    if DEFAULT in actor.motors:  # a wrong name is an error, also where it is for no joint
        _found(actor, DEFAULT, actor.motors[DEFAULT])
    return {name: motors[chosen[name]] for name in names if name in chosen}


def _found(actor: ActorDescription, pattern: str, name: str) -> Motor:
    try:
        return find_motor(name, actor)
    except (LocatedError, MotorError) as error:
        at = (pattern,) if isinstance(actor.authored("motors"), Mapping) else ()
        raise PropertyError(f"{actor.label}.motors: {error}", ("motors",), at=at) from error


def _said(actor: ActorDescription, joints: Sequence[str]) -> dict[str, set[str]]:
    """The joints that the actor's own `dynamics` give each number of a motor for."""
    slots = Slots([(name,) for name in joints], actor.label, "joint")
    return {
        key: {joints[i] for i in slots.spread(_of_these(slots, getattr(actor.dynamics, key)))}
        for key in OF_MOTORS
        if actor.dynamics is not None
    }


@pattern_budget()
def _of_these(slots: Slots, values: Mapping[str, float]) -> dict[str, float]:
    """What is for other kinds of joints is not looked at."""
    found = {}
    for pattern, value in values.items():
        with suppress(BindingError):
            slots.match(pattern)
            found[pattern] = value
    return found


# Joints -----------------------------------------------------------------------------------------


def _with_motor(joint: NativeJoint, motor: Motor, servo: ServoForm | None) -> NativeJoint:
    fit = motor.fit
    damping = fit.viscous
    if servo is not None:
        damping = (damping or 0.0) + servo.damping
    for name, value in (
        ("armature", fit.armature), ("frictionloss", fit.coulomb), ("damping", damping),
    ):  # fmt: skip
        if value is not None:
            joint = joint.with_number(name, value)
    return joint


# Actuators --------------------------------------------------------------------------------------


def _is_servo(element: Any) -> bool:
    return NativeActuator.of(element).kind == "position" and bool(element.gear[0])


def _servo_gains(element: Any, servo: ServoForm) -> dict[str, Any]:
    """Gains in the units of the actuator, whose length is gear times the joint's angle."""
    gear = abs(float(element.gear[0]))
    limit = servo.limit / gear
    return {"kp": servo.stiffness / gear**2, "kv": 0.0, "forcerange": (-limit, limit)}


def _make_servo(
    element: Any, servo: ServoForm, actor: ActorDescription, edits: Edits, authored: Authored
) -> None:
    """Give an actuator of the model, or an authored one where it says nothing, a servo's gains."""
    gains = _servo_gains(element, servo)
    made = {n: actor.actuators[i] for i, names in enumerate(authored.names) for n in names}
    if element.name not in made:
        edits.actuators[element.name].override(gains)
        return
    said = made[element.name]
    if said.is_authored("dampratio"):
        del gains["kv"]
    new = NativeActuator.of(element)
    new.override({n: v for n, v in gains.items() if not said.is_authored(n)})
    new.write_to(element)


def _write_gains(spec: Any, actor: ActorDescription, edits: Edits, names: Collection[str]) -> None:
    """Write the model's own actuators, with what `native_gains` say on top."""
    changed = [a.copy() for a in edits.actuators.values()]
    if actor.native_gains is not None:
        override_gains(changed, actor)
    elements = {a.name: a for a in spec.actuators}
    for actuator in changed:
        if actuator.name in names and actuator.kind == "position":
            actuator.write_to(elements[actuator.name])


# Actor spec ---------------------------------------------------------------------------------------


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


# Frames ------------------------------------------------------------------------------------------
# Frames of a scene: resolves attachments, frames and relative poses, in any order.


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
