"""Joints and actuators of the running model: what a selection path means, and what moves what.

A path is `dog.joint:FL_hip` or `dog.actuator:FL_hip`; names may contain dots, actors' names do not.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import mujoco
import numpy as np

from mjrig.core.model.binding import DOF_SIZE, QPOS_SIZE, ActuatorBinding
from mjrig.core.sim.world import World

JOINT, ACTUATOR = "joint", "actuator"
_TRN = mujoco.mjtTrn
_WRAP = mujoco.mjtWrap
_TYPES = {0: "free", 1: "ball", 2: "slide", 3: "hinge"}


def joint_path(actor: str, name: str) -> str:
    """The path that selects a joint."""
    return f"{actor}.{JOINT}:{name}"


def actuator_path(actor: str, name: str) -> str:
    """The path that selects an actuator."""
    return f"{actor}.{ACTUATOR}:{name}"


def split(path: str) -> tuple[str, str, str] | None:
    """Actor, kind and name of a joint's or an actuator's path; None for any other path."""
    actor, _, part = path.partition(".")
    kind, colon, name = part.partition(":")
    return (actor, kind, name) if colon and kind in (JOINT, ACTUATOR) else None


@dataclass(frozen=True)
class JointElement:
    """A joint: its addresses, the bodies it moves, the body it is on first, and what drives it."""

    actor: str
    name: str
    kind: str
    joint_id: int
    qpos: slice
    dof: slice
    bodies: tuple[int, ...]
    actuators: tuple[str, ...]

    @property
    def path(self) -> str:
        """The path that selects it."""
        return joint_path(self.actor, self.name)

    @property
    def body(self) -> int:
        """The body it is on."""
        return self.bodies[0]

    @property
    def links(self) -> tuple[int, ...]:
        """The same as a list, as of an actuator."""
        return self.bodies[:1]

    @property
    def turns(self) -> bool:
        """Whether its position is an angle."""
        return self.kind in ("hinge", "ball")


@dataclass(frozen=True)
class ActuatorElement:
    """An actuator: what it acts on, and the joints that moves."""

    actor: str
    binding: ActuatorBinding
    joints: tuple[str, ...]
    #: The bodies of those joints; those it acts on where it moves none.
    links: tuple[int, ...]
    #: All bodies it moves, these included.
    bodies: tuple[int, ...]

    @property
    def name(self) -> str:
        """Its local name."""
        return self.binding.actuator

    @property
    def path(self) -> str:
        """The path that selects it."""
        return actuator_path(self.actor, self.name)


class Elements:
    """The joints and actuators of every actor of one world, by path; the model must not change."""

    def __init__(self, world: World) -> None:
        self._model = model = world.model
        self._world = world
        self._joint_paths: dict[int, tuple[str, str]] = {}
        for actor, robot in world.articulations.items():
            ids = robot.model_map.joint_ids.tolist()
            pairs = zip(ids, robot.joint_names, strict=True)
            self._joint_paths |= {i: (actor, name) for i, name in pairs}
        self._children: dict[int, list[int]] = {}
        for body in range(1, model.nbody):
            self._children.setdefault(int(model.body_parentid[body]), []).append(body)

    @cached_property
    def actuators(self) -> dict[str, ActuatorElement]:
        """Every actuator."""
        found = {}
        for actor, robot in self._world.articulations.items():
            for binding in robot.actuators:
                on = _bodies_acted_on(self._model, binding.actuator_id)
                ids = self._moved_by(binding, on)
                names = tuple(n for a, n in map(self._joint_paths.__getitem__, ids) if a == actor)
                links = tuple(dict.fromkeys(int(self._model.jnt_bodyid[i]) for i in ids)) or tuple(
                    on
                )
                moved = [self._below(body) for body in links] if ids else [links]
                bodies = tuple(dict.fromkeys(b for one in moved for b in one))
                made = ActuatorElement(actor, binding, names, links, bodies)
                found[made.path] = made
        return found

    @cached_property
    def joints(self) -> dict[str, JointElement]:
        """Every joint."""
        model, found = self._model, {}
        drivers: dict[tuple[str, str], list[str]] = {}
        for one in self.actuators.values():
            for name in one.joints:
                drivers.setdefault((one.actor, name), []).append(one.name)
        for i, (actor, name) in self._joint_paths.items():
            kind, q, v = (int(a[i]) for a in (model.jnt_type, model.jnt_qposadr, model.jnt_dofadr))
            made = JointElement(
                actor,
                name,
                _TYPES[kind],
                i,
                slice(q, q + QPOS_SIZE[kind]),
                slice(v, v + DOF_SIZE[kind]),
                self._below(int(model.jnt_bodyid[i])),
                tuple(drivers.get((actor, name), ())),
            )
            found[made.path] = made
        return found

    def joints_of_link(self, body: int) -> list[str]:
        """The paths of the joints a body moves by: its own, else those of the nearest above it."""
        model = self._model
        while body > 0:
            first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
            if count:
                own = (self._joint_paths.get(i) for i in range(first, first + count))
                return [joint_path(*one) for one in own if one is not None]
            body = int(model.body_parentid[body])
        return []

    def moved(self, paths: Iterable[str]) -> tuple[list[int], list[int]]:
        """The links of joints and actuators, and all bodies that move with them."""
        either = [self.joints.get(path) or self.actuators.get(path) for path in paths]
        found = [one for one in either if one is not None]
        links = dict.fromkeys(body for one in found for body in one.links)
        return list(links), sorted({body for one in found for body in one.bodies})

    def related(self, paths: Iterable[str]) -> set[str]:
        """Joints and actuators that are selected, what drives the joints and what those drive."""
        found: set[str] = set()
        for path in paths:
            joint, actuator = self.joints.get(path), self.actuators.get(path)
            if joint is not None:
                found |= {path, *(actuator_path(joint.actor, n) for n in joint.actuators)}
            elif actuator is not None:
                found |= {path, *(joint_path(actuator.actor, n) for n in actuator.joints)}
        return found

    def for_actuator(self, actor: str, actuator: str) -> str | None:
        """What to select for an actuator's row or curve: its one joint, else the actuator."""
        found = self.actuators.get(actuator_path(actor, actuator))
        if found is None:
            return None
        return joint_path(actor, found.binding.joint) if found.binding.joint else found.path

    def for_sensor(self, actor: str, sensor: str) -> str | None:
        """The joint or actuator that a sensor measures; None: it measures something else."""
        robot = self._world.articulations.get(actor)
        if robot is None:
            return None
        model, name = self._model, f"{robot.model_map.prefix}{sensor}"
        i = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SENSOR, name)
        kind, target = (
            (int(model.sensor_objtype[i]), int(model.sensor_objid[i])) if i >= 0 else (0, 0)
        )
        if kind == int(mujoco.mjtObj.mjOBJ_JOINT) and target in self._joint_paths:
            return joint_path(*self._joint_paths[target])
        if kind == int(mujoco.mjtObj.mjOBJ_ACTUATOR):
            found = (b.actuator for b in robot.actuators if b.actuator_id == target)
            return next((self.for_actuator(actor, one) for one in found), None)
        return None

    # The tree -----------------------------------------------------------------------------------

    def _below(self, body: int) -> tuple[int, ...]:
        """A body and all that it carries."""
        found = [body]
        for one in found:  # grows on the way
            found += self._children.get(one, ())
        return tuple(found)

    def _above(self, body: int) -> Iterator[int]:
        """The joints that move a body."""
        model = self._model
        while body > 0:
            first = int(model.body_jntadr[body])
            yield from range(first, first + int(model.body_jntnum[body]))
            body = int(model.body_parentid[body])

    def _moved_by(self, binding: ActuatorBinding, bodies: list[int]) -> list[int]:
        """The joints an actuator acts on, by id."""
        model = self._model
        if binding.joint_id >= 0:
            return [binding.joint_id]
        if binding.transmission == "tendon":
            own = _wrapped(
                model, int(model.actuator_trnid[binding.actuator_id][0]), _WRAP.mjWRAP_JOINT
            )
            if own:
                return own
        if binding.transmission == "body":
            return []
        chains = [list(self._above(body)) for body in bodies]
        shared = set.intersection(*map(set, chains)) if len(chains) > 1 else set()
        every = dict.fromkeys(j for chain in chains for j in chain if j not in shared)
        return sorted(j for j in every if j in self._joint_paths)


def _wrapped(model: Any, tendon: int, *kinds: Any) -> list[int]:
    """The objects of some kinds that a tendon passes."""
    first, count = int(model.tendon_adr[tendon]), int(model.tendon_num[tendon])
    span = slice(first, first + count)
    chosen = np.isin(model.wrap_type[span], [int(k) for k in kinds])
    return list(dict.fromkeys(model.wrap_objid[span][chosen].tolist()))


def _bodies_acted_on(model: Any, actuator: int) -> list[int]:
    """The bodies that an actuator's target is on."""
    kind, (target, other) = int(model.actuator_trntype[actuator]), model.actuator_trnid[actuator]
    if kind == int(_TRN.mjTRN_BODY):
        return [int(target)]
    if kind in (int(_TRN.mjTRN_JOINT), int(_TRN.mjTRN_JOINTINPARENT)):
        return [int(model.jnt_bodyid[target])]
    if kind == int(_TRN.mjTRN_TENDON):
        sites = _wrapped(model, int(target), _WRAP.mjWRAP_SITE)
        geoms = _wrapped(model, int(target), _WRAP.mjWRAP_SPHERE, _WRAP.mjWRAP_CYLINDER)
        joints = _wrapped(model, int(target), _WRAP.mjWRAP_JOINT)
        found = [*model.site_bodyid[sites], *model.geom_bodyid[geoms], *model.jnt_bodyid[joints]]
        return list(dict.fromkeys(map(int, found)))
    if kind == int(_TRN.mjTRN_SO3) and other < 0:
        return [int(model.jnt_bodyid[target])]
    sites = [int(s) for s in (target, other) if s >= 0]
    return list(dict.fromkeys(int(model.site_bodyid[s]) for s in sites))
