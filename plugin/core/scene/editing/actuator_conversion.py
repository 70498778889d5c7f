"""Conversion of position actuators to motors under a controller, and back; `use_motors`."""

import logging
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import mujoco
import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.control.controller import ArticulationController
from mjrig.core.control.execution import is_implicit, is_rk4
from mjrig.core.errors import BindingError, MjrigError
from mjrig.core.model.binding import ActuatorBinding, BindingTable, describe_actuators
from mjrig.core.model.build import build
from mjrig.core.names import listed, literal, suggestion
from mjrig.core.pattern_program import pattern_budget
from mjrig.core.patterns import compile_pattern
from mjrig.core.properties import registry
from mjrig.core.properties.component import ActorComponent
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.per_actuator import resolved
from mjrig.core.scene.actor_description import ActorDescription
from mjrig.core.scene.actuator import Actuator
from mjrig.core.scene.motor_file import FrictionLaw, find_motor
from mjrig.core.scene.mujoco_options import Actuation, SimOptions
from mjrig.core.scene.placement import Placements
from mjrig.core.scene.scene_description import Placed, SceneDescription, own_copy

# Actuator conversion ------------------------------------------------------------------------------


_log = logging.getLogger("mjrig")
K = TypeVar("K", bound=Hashable)
_NOT_IMPLICIT = (
    "the integrator took the gains of the position actuators implicitly and does not do so with "
    "the PDController's, which is less stable; sim: {actuation: implicit} would keep it"
)
#: Marks a compiled actuator that is not authored.
OF_THE_MODEL = -1
#: Properties kept when an authored actuator changes its kind.
_KEPT = {"name", "joint", "replaces", "gear", "lengthrange", "forcerange", "forcelimited"}
_KEPT |= {"damping", "armature", "group", "userdata", "sensors"}


class Conversion(NamedTuple):
    """Position actuators as motors under a controller; nothing is changed yet.

    `actuators` replace the actor's own list. `is_implicit`: the gains were integrated implicitly,
    which `sim: {actuation: implicit}` keeps. `remarks` say what else will be different.
    """

    actuators: list[Actuator]
    controller: ActorComponent
    is_implicit: bool
    remarks: tuple[str, ...]

    def put_on(self, actor: ActorDescription) -> ActorComponent:
        """Change the actor; returns the controller."""
        with actor.changes():
            actor.actuators = tuple(self.actuators)
            return actor.add_component(self.controller)


def use_motors(actor: ActorDescription, pattern: str) -> ActorComponent:
    """See `Actor.use_motors`."""
    scene = actor.parent
    sim = scene.effective_sim() if isinstance(scene, SceneDescription) else SimOptions()
    made = as_motors(actor, pattern, sim)
    remarks = list(made.remarks)
    is_lost = made.is_implicit and sim.actuation is not Actuation.IMPLICIT
    others = _laws_in(scene)
    controller = made.put_on(actor)
    if is_lost and isinstance(scene, SceneDescription) and not others:
        own = {} if scene.sim is None else scene.sim.to_data()
        scene.assign({"sim": own | {"actuation": str(Actuation.IMPLICIT)}})
    elif is_lost:
        also = f", and change {listed(others)} as well" if others else ""
        remarks.append(f"{_NOT_IMPLICIT}{also}")
    for remark in remarks:
        _log.warning("%s.use_motors: %s", actor.label, remark)
    return controller


def as_motors(actor: ActorDescription, pattern: str, sim: SimOptions) -> Conversion:
    """Motors and a PDController that do what some position actuators of an actor do.

    Args:
        actor: stays as it is.
        pattern: names of its actuators; those that are not position actuators stay.
        sim: options of the simulation that the model's own do not decide.

    Raises:
        BindingError: the pattern matches no position actuator.
    """
    alone = AloneActor(actor)
    model, actuators = alone.model, alone.actuators
    sim.apply(model.opt)
    matched = _matching(actuators, pattern)
    servos = [b for b in matched if _is_servo(model, b)]
    if not servos:
        names = [b.actuator for b in actuators if _is_servo(model, b)]
        raise BindingError(
            f"{actor.label}: {pattern!r} matches no position actuator; {suggestion(pattern, names)}"
        )
    groups: dict[int, list[ActuatorBinding]] = {}
    for binding in servos:
        groups.setdefault(alone.source(binding), []).append(binding)
    cls = registry.get("MotorActuator", Actuator)
    gains = {b.actuator: -model.actuator_biasprm[b.actuator_id] * b.gear**2 for b in servos}
    names = [literal(b.actuator) for b in servos]
    clamps_targets, beyond = _target_ranges(model, servos)
    controller = registry.get("PDController", ActorComponent).from_data(
        {
            "actuators": pattern if len(servos) == len(matched) else names,
            "kp": _compact({name: float(prm[1]) + 0.0 for name, prm in gains.items()}),
            "kv": _compact({name: float(prm[2]) + 0.0 for name, prm in gains.items()}),
            "torque_limit": _compact({b.actuator: _limit(b) for b in servos}),
            **({"clamp_targets": True} if clamps_targets else {}),
        }
    )
    made = [_in_place_of(actor, i, found, cls, {}) for i, found in groups.items()]
    remarks = []
    if beyond:
        remarks.append(f"setpoints are no longer limited to the ctrlrange of {listed(beyond)}")
    if is_rk4(model):
        remarks.append(
            "under RK4 a position actuator follows the joint at every stage, "
            "a PDController acts once per step: the motion differs a little"
        )
    rest = [*alone.rest(servos), *made]
    return Conversion(rest, controller, is_implicit(model.opt), tuple(remarks))


def _laws_in(scene: HasProperties | None) -> list[str]:
    """The controllers that a scene has already."""
    return [
        f"{actor.name}.{type(component).__name__}"
        for actor in (scene.actors if isinstance(scene, SceneDescription) else ())
        for component in actor.components
        if isinstance(component, ArticulationController) and component.follows_pose
    ]


def _target_ranges(model: Any, servos: Sequence[ActuatorBinding]) -> tuple[bool, list[str]]:
    """Whether all targets are limited to the joint ranges, and else whose limits are lost."""
    off = int(model.opt.disableflags) & int(mujoco.mjtDisableBit.mjDSBL_CLAMPCTRL)
    limited = [b for b in servos if b.ctrl_range is not None and not off]
    if limited and all(_limits_to_joint(b) for b in servos):
        return True, []
    return False, [b.actuator for b in limited]


def _limits_to_joint(binding: ActuatorBinding) -> bool:
    ctrl, joint = binding.ctrl_range, binding.joint_range
    if ctrl is None or joint is None:
        return ctrl is joint
    ends = sorted(end * binding.gear for end in joint)
    return bool(np.allclose(ctrl, ends, rtol=1e-9, atol=0.0))


def use_position_actuators(actor: ActorDescription, component: ActorComponent) -> list[Actuator]:
    """See `Actor.use_position_actuators`."""
    if all(component is not c for c in actor.components):
        raise BindingError(f"{component!r} is not a component of {actor.label!r}")
    if not isinstance(component, registry.get("PDController", ActorComponent)):
        raise BindingError(
            f"{component.label} is not a PDController: it has no kp and kv to convert"
        )
    for name in ("delay", "clamps"):
        if component.__dict__[name]:
            raise BindingError(f"{component.label} has {name}; a position actuator has none")
    alone = AloneActor(actor)
    bindings, gains_of = alone.values(_index(actor.components, component))
    groups: dict[tuple[int, float, float, Any], list[ActuatorBinding]] = {}
    for k, binding in enumerate(bindings):
        g = binding.factor
        if not binding.on_joint:
            raise BindingError(f"{component.label}: {binding.actuator!r} is not on a joint")
        limit = _narrower(binding, float(gains_of["torque_limit"][k]) / abs(g))
        gains = float(gains_of["kp"][k]) / g**2, float(gains_of["kv"][k]) / g**2
        groups.setdefault((alone.source(binding), *gains, limit), []).append(binding)
    cls = registry.get("PositionActuator", Actuator)
    with actor.changes():
        made = [
            _in_place_of(
                actor,
                source,
                found,
                cls,
                {"kp": kp, "kv": kv} | ({} if limit is None else {"forcerange": list(limit)}),
            )
            for (source, kp, kv, limit), found in groups.items()
        ]
        actor.remove_component(component)
        actor.actuators = (*alone.rest(bindings), *made)
    return made


def _in_place_of(
    actor: ActorDescription,
    source: int,
    bindings: Sequence[ActuatorBinding],
    cls: type[Actuator],
    values: Mapping[str, object],
) -> Actuator:
    """An actuator for some compiled ones: of the model, or of the authored one at `source`."""
    before = actor.actuators[source].to_data() if source != OF_THE_MODEL else {}
    data = {k: v for k, v in before.items() if k in _KEPT} | dict(values)
    return _narrowed(cls.from_data(data), bindings, replacing=not before or "replaces" in before)


def _narrowed(
    actuator: Actuator, bindings: Sequence[ActuatorBinding], *, replacing: bool
) -> Actuator:
    """The actuator, for these compiled ones only."""
    if replacing:
        names = [literal(b.actuator) for b in bindings]
        actuator.assign({"replaces": names[0] if len(names) == 1 else names})
    else:
        actuator.assign({"joint": "|".join(dict.fromkeys(literal(b.joint) for b in bindings))})
    return actuator


class AloneActor:
    """One actor of a scene compiled alone, to read from, and what is authored on the actor."""

    def __init__(self, actor: ActorDescription) -> None:
        copied: ActorDescription = own_copy(actor)
        for name in ("attach", "pose", "replicate"):
            copied.unset(name)
        # References to other actors cannot be resolved here; no controller acts on it.
        self._indices = [i for i, a in enumerate(actor.actuators) if "/" not in a.refsite]
        copied.actuators = tuple(copied.actuators[i] for i in self._indices)
        scene = SceneDescription()
        scene.actors = (copied,)
        built = build(scene)
        where = built.actors[0]
        self._actor, self._copied, self._authored = actor, copied, where.authored
        self.model = built.model
        self.actuators = describe_actuators(
            built.model, where.actuator_ids.tolist(), where.prefix, where.aliases
        )

    def values(self, index: int) -> tuple[BindingTable, dict[str, FloatArray]]:
        """What a controller of the actor owns, and its values per actuator.

        Raises:
            BindingError, PropertyError: it does not fit the actuators.
        """
        controller = self._copied.components[index]
        assert isinstance(controller, ArticulationController)
        table = controller.select(self.actuators, self._copied.label)
        controller.spread_over(table.slots(self._copied.label))
        return table, resolved(controller)

    def source(self, binding: ActuatorBinding) -> int:
        """The authored actuator that a compiled one belongs to."""
        pairs = zip(self._indices, self._authored, strict=True)
        found = [i for i, names in pairs if binding.actuator in names]
        return found[0] if found else OF_THE_MODEL

    def rest(self, taken: Sequence[ActuatorBinding]) -> list[Actuator]:
        """The authored actuators without these: some are removed, some keep fewer matches."""
        names = {b.actuator for b in taken}
        left = []
        for i, actuator in enumerate(self._actor.actuators):
            own = [b for b in self.actuators if self.source(b) == i]
            kept = [b for b in own if b.actuator not in names]
            if len(kept) == len(own):
                left.append(actuator)
            elif kept:
                left.append(_narrowed(actuator, kept, replacing=bool(actuator.replaces)))
        return left


@pattern_budget()
def _matching(actuators: Iterable[ActuatorBinding], pattern: str) -> list[ActuatorBinding]:
    exact = [b for b in actuators if b.actuator == pattern]
    fullmatch = compile_pattern(pattern).fullmatch
    return exact or [b for b in actuators if fullmatch(b.actuator)]


def _is_servo(model: Any, binding: ActuatorBinding) -> bool:
    """Whether an actuator is exactly f = kp (u − l) − kv l' on a hinge or slide, kp and kv ≥ 0."""
    i = binding.actuator_id
    gain, bias = model.actuator_gainprm[i], model.actuator_biasprm[i]
    stateless = int(model.actuator_dyntype[i]) == int(mujoco.mjtDyn.mjDYN_NONE)
    has_past = bool(model.actuator_history[i][0])
    plain = bool(bias[0] == 0.0 and gain[0] == -bias[1] and (bias[1:3] <= 0.0).all())
    moves = binding.on_joint and binding.has_effect
    return binding.kind == "position" and stateless and not has_past and plain and moves


def _limit(binding: ActuatorBinding) -> float:
    """The largest joint effort; the motor's own range still limits it further."""
    if binding.force_range is None:
        return float("inf")
    return float(np.abs(binding.force_range).max() * abs(binding.gear))


def _narrower(binding: ActuatorBinding, limit: float) -> tuple[float, float] | None:
    """The force range narrowed by a limit; None where it is not."""
    low, high = binding.force_range or (-np.inf, np.inf)
    found = max(low, -limit), min(high, limit)
    return None if found == (low, high) else (float(found[0]), float(found[1]))


def _compact(values: Mapping[str, float]) -> object:
    """One number where all are equal, else numbers by the names that share them."""
    groups: dict[float, list[str]] = {}
    for name, value in values.items():
        groups.setdefault(value, []).append(literal(name))
    if len(groups) == 1:
        return next(iter(groups))
    return {"|".join(names): value for value, names in groups.items()}


def _index(items: Sequence[K], item: K) -> int:
    return next(i for i, other in enumerate(items) if other is item)


# Motors -------------------------------------------------------------------------------------------


#: The component that computes friction which depends on load and speed.
FRICTION = "JointFriction"


def with_motors(placements: Placements) -> Placements:
    """The same with the position actuators of every actor that says `use_motors` converted.

    An actor whose motors have friction that MuJoCo lacks is given the component that computes it.

    Raises:
        SceneError, BindingError: an actor has none, or is attached to something that is needed.
    """
    if not any(p.item.use_motors or p.item.motors for p in placements.actors):
        return placements
    actors = (_converted(p) if p.item.use_motors else p for p in placements.actors)
    return replace(placements, actors=tuple(map(_with_friction, actors)))


def _with_friction(placed: Placed) -> Placed:
    """With a `JointFriction` for motors whose friction is more than Coulomb and viscous."""
    actor = placed.item
    if not needs_friction(actor):
        return placed
    kind = registry.get(FRICTION, ActorComponent)
    if any(isinstance(component, kind) for component in actor.components):
        return placed
    copied: ActorDescription = own_copy(actor)
    copied.add_component(kind())
    return replace(placed, item=copied)


def needs_friction(actor: ActorDescription) -> bool:
    """Whether the friction of one of its motors changes with load or speed."""
    for name in dict.fromkeys(actor.motors.values()):
        with suppress(MjrigError):  # raised with its place where the motors are put on the joints
            if find_motor(name, actor).law is not FrictionLaw.M1:
                return True
    return False


def _converted(placed: Placed) -> Placed:
    with placed.locating():
        try:
            return replace(placed, item=_with_motors(placed.item))
        except BindingError as error:
            raise BindingError(str(error), ("use_motors",)) from error


def _with_motors(actor: ActorDescription) -> ActorDescription:
    """A copy whose own controllers drive the motors they match, and new ones the rest."""
    copied: ActorDescription = own_copy(actor)
    copied.unset("use_motors")
    added = _use_motors(copied, ".*")
    own = {a.actuator for a in _owned(copied, copied.components[:-1])}
    made = {a.actuator for a in _owned(copied, [added])}
    if not own & made:
        return copied
    copied = own_copy(actor)
    copied.unset("use_motors")
    copied.remove_component(_use_motors(copied, _one_of(own & made)))
    if made - own:
        _use_motors(copied, _one_of(made - own))
    return copied


def _use_motors(actor: ActorDescription, pattern: str) -> ActorComponent:
    """As `Actor.use_motors`; how the gains are integrated is decided where the world is built."""
    return as_motors(actor, pattern, SimOptions()).put_on(actor)


def _owned(actor: ActorDescription, components: Iterable[ActorComponent]) -> list[ActuatorBinding]:
    """The actuators that controllers of an actor own."""
    controllers = [c for c in components if isinstance(c, ArticulationController)]
    if not controllers:
        return []
    actuators = AloneActor(actor).actuators
    return [b for c in controllers for b in c.select(actuators, actor.label)]


def _one_of(names: Iterable[str]) -> str:
    return "|".join(literal(name) for name in sorted(names))
