"""Position actuators of a model made motors under a PDController, and back."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import mujoco
import numpy as np

from mjrig import registry
from mjrig.actor import Actor
from mjrig.actuator import Actuator
from mjrig.binding import ActuatorBinding
from mjrig.component import ActorComponent
from mjrig.errors import BindingError
from mjrig.names import compile_pattern, literal, suggestion
from mjrig.scene import Scene

if TYPE_CHECKING:
    from mjrig.world import World

K = TypeVar("K", bound=Hashable)


def use_motors(actor: Actor, pattern: str) -> ActorComponent:
    """See `Actor.use_motors`."""
    world = _alone(actor, components=False)
    model, robot = world.model, world[actor.name]
    matched = _matching(robot.actuators, pattern)
    servos = [b for b in matched if _is_servo(model, b)]
    if not servos:
        names = [b.actuator for b in robot.actuators if _is_servo(model, b)]
        raise BindingError(
            f"{actor.label}: {pattern!r} matches no position actuator; {suggestion(pattern, names)}"
        )
    _free(actor, {b.actuator for b in servos})
    whole = len(servos) == len(matched) and "(" not in pattern
    replaces: Any = pattern if whole else [literal(b.actuator) for b in servos]
    motor = registry.get("MotorActuator", Actuator).from_data({"replaces": replaces})
    actor.add_actuator(motor)
    scale = {b.actuator: b.gear**2 for b in servos}
    prm = {b.actuator: -model.actuator_biasprm[b.actuator_id] for b in servos}
    limits = {b.actuator: _limit(b) for b in servos}
    controller = registry.get("PDController", ActorComponent).from_data(
        {
            "actuators": replaces,
            "kp": _compact({n: float(p[1]) * scale[n] for n, p in prm.items()}),
            "kv": _compact({n: float(p[2]) * scale[n] for n, p in prm.items()}),
            "torque_limit": _compact(limits),
        }
    )
    return actor.add_component(controller)


def use_position_actuators(actor: Actor, component: ActorComponent) -> list[Actuator]:
    """See `Actor.use_position_actuators`."""
    if all(component is not c for c in actor.components):
        raise BindingError(f"{component!r} is not a component of {actor.label!r}")
    if not isinstance(component, registry.get("PDController", ActorComponent)):
        raise BindingError(f"{component.label} is no PDController: it has no kp and kv to take")
    for name in ("delay", "clamps"):
        if component.__dict__[name]:
            raise BindingError(f"{component.label} has {name}; a position actuator has none")
    world = _alone(actor, components=True)
    running: Any = world[actor.name].components[_index(actor.components, component)]
    groups: dict[tuple[int, float, float, Any], list[ActuatorBinding]] = {}
    authored = world[actor.name].model_map.authored
    for k, binding in enumerate(running.bindings):
        g = binding.factor
        source = next((i for i, names in enumerate(authored) if binding.actuator in names), -1)
        limit = _narrowed(binding, float(running.torque_limit[k]) / abs(g))
        gains = float(running.kp[k]) / g**2, float(running.kv[k]) / g**2
        groups.setdefault((source, *gains, limit), []).append(binding)
    with actor.changes():
        actor.remove_component(component)
        old = actor.actuators
        made = [_servo(old, key, found) for key, found in groups.items()]
        gone = {source for source, *_ in groups}
        rest = [a for i, a in enumerate(old) if i not in gone]
        actor.actuators = (*rest, *made)
    return made


def _servo(
    old: Sequence[Actuator],
    key: tuple[int, float, float, Any],
    bindings: Sequence[ActuatorBinding],
) -> Actuator:
    """A position actuator in the place of some motors."""
    source, kp, kv, limit = key
    cls = registry.get("PositionActuator", Actuator)
    before = old[source].to_data() if source >= 0 else {}
    kept = {k: v for k, v in before.items() if k not in ("type", "ctrlrange", "ctrllimited")}
    data: dict[str, object] = {**kept, "kp": kp, "kv": kv}
    if source < 0 or old[source].replaces:
        names = [literal(b.actuator) for b in bindings]
        data["replaces"] = names[0] if len(names) == 1 else names
    else:
        data["joint"] = "|".join(dict.fromkeys(literal(b.joint) for b in bindings))
    if limit is not None:
        data["forcerange"] = list(limit)
    return cls.from_data(data)


def _free(actor: Actor, names: set[str]) -> None:
    """Take off authored actuators that replace these already."""
    for actuator in actor.actuators:
        if actuator.replaces and any(
            compile_pattern(p).fullmatch(n) for p in actuator.replaces for n in names
        ):
            actor.remove_actuator(actuator)


def _alone(actor: Actor, *, components: bool) -> "World":
    """A world with this actor only, to read from."""
    from mjrig.world import World

    copied = actor.copy()
    copied._base = actor.folder()
    for name in ("attach", "pose", "replicate", *(() if components else ("components",))):
        copied.unset(name)
    copied.actuators = tuple(a for a in copied.actuators if "/" not in a.refsite)
    scene = Scene()
    scene.actors = (copied,)
    return World(scene, "python")


def _matching(actuators: Iterable[ActuatorBinding], pattern: str) -> list[ActuatorBinding]:
    exact = [b for b in actuators if b.actuator == pattern]
    fullmatch = compile_pattern(pattern).fullmatch
    return exact or [b for b in actuators if fullmatch(b.actuator)]


def _is_servo(model: Any, binding: ActuatorBinding) -> bool:
    """Whether an actuator is f = kp (u − l) − kv l' on a hinge or slide, and nothing more."""
    i = binding.actuator_id
    gain, bias = model.actuator_gainprm[i], model.actuator_biasprm[i]
    stateless = int(model.actuator_dyntype[i]) == int(mujoco.mjtDyn.mjDYN_NONE)
    plain = bool(bias[0] == 0.0 and gain[0] == -bias[1])
    return binding.kind == "position" and stateless and plain and binding.on_joint


def _limit(binding: ActuatorBinding) -> float:
    """The largest joint effort; what the motor's own range cuts further, it still cuts."""
    if binding.force_range is None:
        return float("inf")
    return float(np.abs(binding.force_range).max() * abs(binding.gear))


def _narrowed(binding: ActuatorBinding, limit: float) -> tuple[float, float] | None:
    """The force range a limit makes narrower; None where it does not."""
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
