"""Inertias and loads of a robot at its initial pose, at random poses, and at extreme poses."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.sim.world import World
from mjrig.lab.check.feedback_loops import Group, Indices, groups
from mjrig.lab.rollouts.actuator_selection import Chosen

#: Sampled poses that a search begins with.
STARTS = 5
#: The same of a search for unstable poses: the fewer joints, the more, for about the same time.
STRAINED, STARTS_TIMES_JOINTS = 6, 120
#: Most times that a search goes through all joints, and the gain below which it ends.
ROUNDS, CONVERGED = 12, 1e-4
#: Positions of a joint that are tried, and how often finer ones are.
TRIED, FINER = 9, 3
#: Displacement for the derivatives of springs and dampers [rad or m, and per s].
NUDGE = 1e-6

#: A joint, its address in qpos and its range.
_Reach = tuple[int, int, float, float]


@dataclass(frozen=True)
class Seen:
    """Inertia and loads seen by an actuator.

    Attributes:
        inertia: Mᵢᵢ at the initial pose [kg·m² or kg].
        smallest: over all poses, by search.
        largest: over all poses, by search.
        stiffness: of the springs of the joint and of tendons there [N·m/rad or N/m].
        damping: of the joint, its actuators and tendons [N·m·s/rad or N·s/m].
        load: effort against gravity at the initial pose, base fixed, contacts off [N·m or N].
    """

    inertia: float
    smallest: float
    largest: float
    stiffness: float
    damping: float
    load: float


class SampledPoses:
    """The pose a world is in, sampled ones inside the joint ranges, and extreme ones.

    Searches begin at samples that are always the same, so that what they find does not depend on
    the seed; as many others, by the seed, serve to check it. A hinge without a range turns all the
    way; a slide without one stays where it is. The world must not be used elsewhere afterwards.
    """

    def __init__(self, world: World, count: int, seed: int) -> None:
        self.world = world
        world.model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        self._poses = [world.data.qpos.copy(), *_drawn(world, count, (0,))]
        self._others = list(_drawn(world, count, (1, seed)))
        self._starts = list(self._poses)

    def _visit(self, poses: Sequence[FloatArray]) -> Iterator[None]:
        """Put the world into one pose after the other."""
        world = self.world
        world.data.qvel[:] = 0.0
        for pose in poses:
            world.data.qpos[:] = pose
            mujoco.mj_fwdPosition(world.model, world.data)
            yield

    def groups(self) -> list[Group]:
        """The feedback loops in every pose, with the gains that the controllers have now."""
        return [group for _ in self._visit(self._poses) for group in groups(self.world)]

    def others(self) -> list[Group]:
        """The same in the poses that serve as a check."""
        return [group for _ in self._visit(self._others) for group in groups(self.world)]

    def strained(self, chosen: Sequence[Chosen], stress: FloatArray) -> list[Group]:
        """The same in poses where gains are largest for the inertia that all joints have free.

        They are searched for, and the next search begins in them too.

        Args:
            stress: of the gains of each of the chosen, in units of damping.
        """
        if not self._others:
            return []
        search = _PoseSearch(self.world)
        dofs = np.array([c.binding.dof_address for c in chosen], dtype=np.intp)
        weights = np.zeros((len(dofs), self.world.model.nv))
        weights[np.arange(len(dofs)), dofs] = np.sqrt(stress)

        def relief(pose: FloatArray) -> float:
            return -search.strain(pose, weights)

        count = max(STRAINED, STARTS_TIMES_JOINTS // max(len(search.every), 1))
        starts = sorted(self._starts, key=relief)[:count]
        # A search over whole ranges ends in the worst pose; those that are nearly as bad, such as
        # the elbow turned the other way, are found by searches that stay near.
        found = [
            search.best(relief, search.every, start, is_near=is_near)[1]
            for is_near in (False, True)
            for start in starts
        ]
        self._starts += found
        return [group for _ in self._visit(found) for group in groups(self.world)]

    def seen(self, chosen: Sequence[Chosen]) -> list[Seen]:
        """Inertia and loads seen by some actuators; their extreme poses are kept for `groups`."""
        model, data = self.world.model, self.world.data
        dofs = np.array([c.binding.dof_address for c in chosen], dtype=np.intp)
        inertias = np.array([_inertias(self.world)[dofs] for _ in self._visit(self._poses)])
        ends = np.array([inertias.min(axis=0), inertias.max(axis=0)])
        if self._others:
            ends = self._extremes(dofs, inertias)
        next(self._visit(self._poses))
        mujoco.mj_fwdVelocity(model, data)
        load = data.qfrc_bias - data.qfrc_gravcomp
        stiffness, damping = own_passive(self.world, dofs)
        return [
            Seen(
                float(inertias[0, k]),
                float(ends[0, k]),
                float(ends[1, k]),
                float(stiffness[k]),
                float(damping[k]),
                float(load[dof]),
            )
            for k, dof in enumerate(dofs)
        ]

    def _extremes(self, dofs: Indices, inertias: FloatArray) -> FloatArray:
        """Least and largest Mᵢᵢ (2, n), searched for from the best of the sampled poses."""
        search, sampled = _PoseSearch(self.world), list(self._poses)
        found = np.empty((2, len(dofs)))
        for k, dof in enumerate(dofs):
            order = np.argsort(inertias[:, k])
            low = [search.extreme(int(dof), 1.0, sampled[p]) for p in order[:STARTS]]
            high = [search.extreme(int(dof), -1.0, sampled[p]) for p in order[-STARTS:]]
            least = min(low, key=lambda pair: pair[0])
            found[:, k] = least[0], -min(pair[0] for pair in high)
            self._poses.append(least[1])
        return found


class _PoseSearch:
    """Extreme poses: one joint after the other, within its range."""

    def __init__(self, world: World) -> None:
        self._model, self._data = world.model, mujoco.MjData(world.model)
        model = world.model
        #: Joints that may be moved.
        self.every: list[_Reach] = [
            (int(joint), int(model.jnt_qposadr[joint]), float(a), float(b))
            for joint, a, b in zip(*movable(model), strict=True)
        ]
        self._diagonal = model.M_rowadr + model.M_rownnz - 1

    def extreme(self, dof: int, sign: float, start: FloatArray) -> tuple[float, FloatArray]:
        """The least sign · Mᵢᵢ from a pose on, and its pose."""
        own = [j for j in self.every if self._is_behind(j[0], dof)]
        return self.best(lambda pose: sign * self._inertia(dof, pose), own, start)

    def best(
        self,
        cost: Callable[[FloatArray], float],
        joints: Sequence[_Reach],
        start: FloatArray,
        *,
        is_near: bool = False,
    ) -> tuple[float, FloatArray]:
        """The least cost from a pose on, and its pose; `is_near`: of those around it."""
        pose = start.copy()
        least = cost(pose)
        for _ in range(ROUNDS):
            before = least
            for _, at, low, high in joints:
                width = (high - low) / (TRIED - 1)
                tried = _around(pose[at], width, low, high) if is_near else None
                least = _along(cost, pose, at, low, high, least, tried)
            if before - least <= CONVERGED * abs(before):
                break
        return least, pose

    def strain(self, pose: FloatArray, weights: FloatArray) -> float:
        """The largest eigenvalue of W M⁻¹ Wᵀ."""
        model, data = self._model, self._data
        self._pose(pose)
        mujoco.mj_factorM(model, data)
        solved = np.empty_like(weights)
        mujoco.mj_solveM(model, data, solved, weights)
        return float(np.linalg.eigvalsh(solved @ weights.T)[-1])

    def _inertia(self, dof: int, pose: FloatArray) -> float:
        self._pose(pose)
        return float(self._data.M[self._diagonal[dof]])

    def _pose(self, pose: FloatArray) -> None:
        """Compute M at a pose."""
        model, data = self._model, self._data
        data.qpos[:] = pose
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_tendon(model, data)
        mujoco.mj_transmission(model, data)
        mujoco.mj_makeM(model, data)

    def _is_behind(self, joint: int, dof: int) -> bool:
        """Whether a joint moves the links that a degree of freedom carries, against each other."""
        model = self._model
        body, carrier = int(model.jnt_bodyid[joint]), int(model.dof_bodyid[dof])
        if body == carrier:
            return int(model.jnt_dofadr[joint]) != dof
        while body > carrier:
            body = int(model.body_parentid[body])
        return body == carrier


def _along(
    cost: Callable[[FloatArray], float],
    pose: FloatArray,
    at: int,
    low: float,
    high: float,
    least: float,
    tried: FloatArray | None = None,
) -> float:
    """Move one joint to where the cost is least; the pose is changed.

    Positions all over the range are `tried` first, or those that are given; then finer ones.
    """
    best, width = float(pose[at]), (high - low) / (TRIED - 1)
    tried = np.linspace(low, high, TRIED) if tried is None else tried
    for _ in range(FINER):
        for value in tried:
            pose[at] = value
            if (now := cost(pose)) < least:
                best, least = float(value), now
        tried = _around(best, 0.5 * width, low, high)
        width *= 0.25
    pose[at] = best
    return least


def _around(value: float, width: float, low: float, high: float) -> FloatArray:
    """Four positions on both sides of one, at most `width` away."""
    return np.clip(value + width * np.array([-1.0, -0.5, 0.5, 1.0]), low, high)


def own_passive(world: World, dofs: Indices) -> tuple[FloatArray, FloatArray]:
    """Stiffness and damping at each of some degrees of freedom, tendons and actuators included."""
    model, scratch = world.model, mujoco.MjData(world.model)
    stiffness, damping = np.zeros(len(dofs)), np.zeros(len(dofs))
    for k, dof in enumerate(dofs):
        for side in (1.0, -1.0):
            direction = np.zeros(model.nv)
            direction[dof] = side
            scratch.qpos[:], scratch.qvel[:] = world.data.qpos, side * NUDGE * np.abs(direction)
            mujoco.mj_integratePos(model, scratch.qpos, direction, NUDGE)
            mujoco.mj_fwdPosition(model, scratch)
            mujoco.mj_fwdVelocity(model, scratch)
            stiffness[k] -= side * float(scratch.qfrc_spring[dof]) / (2.0 * NUDGE)
            damping[k] -= side * float(scratch.qfrc_damper[dof]) / (2.0 * NUDGE)
    return np.round(stiffness, 9), np.round(damping, 9)


def active_equalities(model: Any, joints: Indices) -> list[str]:
    """Names of the equality constraints that are on at the start and act on links of some joints.

    One without a name is given by its number.
    """
    bodies, found = set(model.jnt_bodyid[joints].tolist()), []
    for i in np.flatnonzero(model.eq_active0):
        ends = _ends(model, int(i))
        if ends is None or any(_hangs_on(model, body, bodies) for body in ends):
            found.append(str(model.equality(int(i)).name) or f"number {i}")
    return found


def _ends(model: Any, equality: int) -> list[int] | None:
    """The bodies that an equality constraint acts on; None: such as tendons, not known."""
    kinds, ids = mujoco.mjtEq, (int(model.eq_obj1id[equality]), int(model.eq_obj2id[equality]))
    kind = int(model.eq_type[equality])
    if kind == int(kinds.mjEQ_JOINT):
        return [int(model.jnt_bodyid[i]) for i in ids if i >= 0]
    if kind in (int(kinds.mjEQ_CONNECT), int(kinds.mjEQ_WELD)):
        if int(model.eq_objtype[equality]) == int(mujoco.mjtObj.mjOBJ_SITE):
            return [int(model.site_bodyid[i]) for i in ids]
        return list(ids)
    return None


def _hangs_on(model: Any, body: int, bodies: set[int]) -> bool:
    """Whether a body is one of some, or fixed to one."""
    while body and body not in bodies and not model.body_jntnum[body]:
        body = int(model.body_parentid[body])
    return body in bodies


def _inertias(world: World) -> FloatArray:
    """Mᵢᵢ, rotor inertias included."""
    full = np.zeros((world.model.nv, world.model.nv))
    mujoco.mj_fullM(world.model, world.data, full)
    return np.diag(full).copy()


def movable(model: Any) -> tuple[Indices, FloatArray, FloatArray]:
    """The joints that poses differ in, and their ranges."""
    hinge = model.jnt_type == int(mujoco.mjtJoint.mjJNT_HINGE)
    slide = model.jnt_type == int(mujoco.mjtJoint.mjJNT_SLIDE)
    limited = model.jnt_limited.astype(bool)
    moves = np.flatnonzero((hinge | slide) & limited | hinge)
    low = np.where(limited, model.jnt_range[:, 0], -np.pi)[moves]
    high = np.where(limited, model.jnt_range[:, 1], np.pi)[moves]
    return moves, low, high


def _drawn(world: World, count: int, seed: tuple[int, ...]) -> Iterator[FloatArray]:
    model, random = world.model, np.random.default_rng(seed)
    moves, low, high = movable(model)
    for _ in range(count):
        pose = world.data.qpos.copy()
        pose[model.jnt_qposadr[moves]] = random.uniform(low, high)
        yield pose
