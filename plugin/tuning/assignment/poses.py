"""Inertias and loads of a robot at its initial pose and at random ones."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from mjrig.arrays import FloatArray
from mjrig.check.feedback_loops import Group, groups, moments, passive
from mjrig.gains.choice import Chosen
from mjrig.sim.world import World


@dataclass(frozen=True)
class Seen:
    """Inertia and loads seen by an actuator.

    Attributes:
        inertia: Mᵢᵢ at the initial pose [kg·m² or kg].
        smallest: over all poses.
        largest: over all poses.
        stiffness: of the joint's own spring [N·m/rad or N/m].
        damping: of the joint and its actuators themselves [N·m·s/rad or N·s/m].
        load: effort against gravity at the initial pose, base fixed, contacts off [N·m or N].
    """

    inertia: float
    smallest: float
    largest: float
    stiffness: float
    damping: float
    load: float


class SampledPoses:
    """The pose a world is in, and random ones inside the joint ranges.

    A hinge without a range turns all the way; a slide without one stays where it is. The world
    must not be used elsewhere afterwards.
    """

    def __init__(self, world: World, count: int, seed: int) -> None:
        self.world = world
        world.model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        self._poses = [world.data.qpos.copy(), *_drawn(world, count, seed)]

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
        """Inertia and loads seen by some actuators."""
        model, data = self.world.model, self.world.data
        dofs = [c.binding.dof_address for c in chosen]
        inertias = np.array([_inertias(self.world)[dofs] for _ in self._visit()])
        next(self._visit())
        mujoco.mj_fwdVelocity(model, data)
        load = data.qfrc_bias - data.qfrc_gravcomp
        damping, stiffness = passive(model, moments(model, data))
        return [
            Seen(
                float(own[0]),
                float(own.min()),
                float(own.max()),
                float(stiffness[dof]),
                float(damping[dof, dof]),
                float(load[dof]),
            )
            for dof, own in zip(dofs, inertias.T, strict=True)
        ]


def _inertias(world: World) -> FloatArray:
    """Mᵢᵢ, rotor inertias included."""
    full = np.zeros((world.model.nv, world.model.nv))
    mujoco.mj_fullM(world.model, world.data, full)
    return np.diag(full).copy()


def _drawn(world: World, count: int, seed: int) -> Iterator[FloatArray]:
    model, random = world.model, np.random.default_rng(seed)
    hinge = model.jnt_type == int(mujoco.mjtJoint.mjJNT_HINGE)
    slide = model.jnt_type == int(mujoco.mjtJoint.mjJNT_SLIDE)
    limited = model.jnt_limited.astype(bool)
    moves = np.flatnonzero((hinge | slide) & limited | hinge)
    low = np.where(limited, model.jnt_range[:, 0], -np.pi)[moves]
    high = np.where(limited, model.jnt_range[:, 1], np.pi)[moves]
    for _ in range(count):
        pose = world.data.qpos.copy()
        pose[model.jnt_qposadr[moves]] = random.uniform(low, high)
        yield pose
