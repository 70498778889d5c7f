"""Inertias and loads of a robot at its initial pose, at random ones, and at extreme ones."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from mjrig.arrays import FloatArray
from mjrig.check.feedback_loops import Group, Indices, groups
from mjrig.gains.choice import Chosen
from mjrig.sim.world import World

#: Sampled poses that a search begins with.
STARTS = 5
#: Most times that a search goes through all joints.
ROUNDS = 12
#: Positions of a joint that are tried, and how often finer ones are.
TRIED, FINER = 9, 3
#: Displacement for the derivatives of springs and dampers [rad or m, and per s].
NUDGE = 1e-6


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
    """The pose a world is in, random ones inside the joint ranges, and those of least inertia.

    A hinge without a range turns all the way; a slide without one stays where it is. The world
    must not be used elsewhere afterwards.
    """

    def __init__(self, world: World, count: int, seed: int) -> None:
        self.world = world
        world.model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        self._poses = [world.data.qpos.copy(), *_drawn(world, count, seed)]
        self._searches = count > 0

    def _visit(self) -> Iterator[None]:
        """Put the world into one pose after the other."""
        world = self.world
        world.data.qvel[:] = 0.0
        for pose in self._poses:
            world.data.qpos[:] = pose
            mujoco.mj_fwdPosition(world.model, world.data)
            yield

    def groups(self) -> list[list[Group]]:
        """The feedback loops in every pose, with the gains that the controllers have now."""
        return [groups(self.world) for _ in self._visit()]

    def seen(self, chosen: Sequence[Chosen]) -> list[Seen]:
        """Inertia and loads seen by some actuators; their extreme poses are kept for `groups`."""
        model, data = self.world.model, self.world.data
        dofs = np.array([c.binding.dof_address for c in chosen], dtype=np.intp)
        inertias = np.array([_inertias(self.world)[dofs] for _ in self._visit()])
        ends = np.array([inertias.min(axis=0), inertias.max(axis=0)])
        if self._searches:
            ends = self._extremes(dofs, inertias)
        next(self._visit())
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
            low = [search.best(int(dof), 1.0, sampled[p]) for p in order[:STARTS]]
            high = [search.best(int(dof), -1.0, sampled[p]) for p in order[-STARTS:]]
            least = min(low, key=lambda pair: pair[0])
            found[:, k] = least[0], -min(pair[0] for pair in high)
            self._poses.append(least[1])
        return found


class _PoseSearch:
    """Poses with extreme inertias: one joint after the other, within its range."""

    def __init__(self, world: World) -> None:
        self._model, self._data = world.model, mujoco.MjData(world.model)
        joints, low, high = movable(world.model)
        self._joints = [
            (int(joint), float(a), float(b)) for joint, a, b in zip(joints, low, high, strict=True)
        ]
        model = world.model
        self._diagonal = model.M_rowadr + model.M_rownnz - 1

    def best(self, dof: int, sign: float, start: FloatArray) -> tuple[float, FloatArray]:
        """The least sign · Mᵢᵢ from a pose on, and its pose."""
        pose, least = start.copy(), np.inf
        own = [j for j in self._joints if self._is_behind(j[0], dof)]
        least = sign * self._inertia(dof, pose)
        for _ in range(ROUNDS):
            before = least
            for joint, low, high in own:
                at = int(self._model.jnt_qposadr[joint])
                least = self._along(dof, sign, pose, at, low, high, least)
            if before - least <= 1e-4 * abs(before):
                break
        return least, pose

    def _along(
        self,
        dof: int,
        sign: float,
        pose: FloatArray,
        at: int,
        low: float,
        high: float,
        least: float,
    ) -> float:
        """Move one joint to where it is best; the pose is changed."""
        best, width = float(pose[at]), (high - low) / (TRIED - 1)
        tried = np.linspace(low, high, TRIED)
        for _ in range(FINER):
            for value in tried:
                pose[at] = value
                if (now := sign * self._inertia(dof, pose)) < least:
                    best, least = float(value), now
            tried = np.clip(best + width * np.array([-0.5, -0.25, 0.25, 0.5]), low, high)
            width *= 0.25
        pose[at] = best
        return least

    def _inertia(self, dof: int, pose: FloatArray) -> float:
        model, data = self._model, self._data
        data.qpos[:] = pose
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_tendon(model, data)
        mujoco.mj_transmission(model, data)
        mujoco.mj_makeM(model, data)
        return float(data.M[self._diagonal[dof]])

    def _is_behind(self, joint: int, dof: int) -> bool:
        """Whether a joint moves the links that a degree of freedom carries, against each other."""
        model = self._model
        body, carrier = int(model.jnt_bodyid[joint]), int(model.dof_bodyid[dof])
        if body == carrier:
            return int(model.jnt_dofadr[joint]) != dof
        while body > carrier:
            body = int(model.body_parentid[body])
        return body == carrier


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


def _drawn(world: World, count: int, seed: int) -> Iterator[FloatArray]:
    model, random = world.model, np.random.default_rng(seed)
    moves, low, high = movable(model)
    for _ in range(count):
        pose = world.data.qpos.copy()
        pose[model.jnt_qposadr[moves]] = random.uniform(low, high)
        yield pose
