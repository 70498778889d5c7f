"""Derivatives of a fit: joints that never meet are varied together, and nothing else changes."""

from pathlib import Path

import numpy as np
import pytest

import mjrig
from mjrig.lab.fit.estimates import unknowns_of
from mjrig.lab.fit.fit_data import read_tracks
from mjrig.lab.fit.plant import drives_of
from mjrig.lab.fit.problem import Problem
from mjrig.lab.fit.simulation import Jobs, MotionOptions, simulator_of, stages_of
from tests.places import SCENES
from tests.plugin.lab.fit.fit_worlds import record

NAMES = ("kp", "kv", "armature", "frictionloss")


class Counted:
    """A simulator that counts what it is asked for."""

    def __init__(self, scene: mjrig.Scene, problem_stage: object) -> None:
        self._own = simulator_of(scene, problem_stage)  # type: ignore[arg-type]
        self.jobs = 0

    def run(self, jobs: Jobs) -> list[np.ndarray]:  # type: ignore[type-arg]
        self.jobs += len(jobs)
        return self._own.run(jobs)

    def close(self) -> None:
        self._own.close()


def held(*, contact: bool) -> mjrig.Scene:
    scene = mjrig.Scene.load(SCENES / "quadruped.yaml")
    scene.set("quadruped.base", "fixed")
    scene.set("sim.contact", contact)
    scene.set("sim.timestep", 0.002)
    return scene


def problem_of(scene: mjrig.Scene) -> tuple[Problem, Counted]:
    world = mjrig.World(scene)
    drives = drives_of(world, "quadruped")

    def swing(time: float, values: np.ndarray) -> None:  # type: ignore[type-arg]
        values[0] += 0.1 * np.sin(20.0 * time + np.arange(12))

    recording = record(mjrig.World(scene), swing, 0.1)
    tracks = read_tracks(world, "quadruped", [recording])
    stage, _ = stages_of(world, drives, tracks, 1, MotionOptions(), 0, 48)
    simulator = Counted(scene, stage)
    wanted = dict.fromkeys(NAMES, range(12))
    unknowns = unknowns_of(world, drives, wanted, {}, np.full(12, 10.0))
    return Problem(stage, simulator, unknowns), simulator


def test_legs_of_a_held_robot_are_varied_together(tmp_path: Path) -> None:
    """A quarter of the simulations, and the derivatives of one at a time."""
    problem, simulator = problem_of(held(contact=False))
    found = problem.linearise(problem.start())
    assert simulator.jobs == 1 + (12 * len(NAMES) + 24) // 4
    one_by_one, counted = problem_of(held(contact=False))
    one_by_one._trees = np.zeros(12, dtype=np.intp)
    one_by_one._ranks = np.arange(12)
    truth = one_by_one.linearise(one_by_one.start())
    assert counted.jobs == 1 + 12 * len(NAMES) + 24
    for a, b in (
        (found.by_unknown[0], truth.by_unknown[0]),
        (found.by_start[0], truth.by_start[0]),
    ):
        scale = np.abs(b).max(axis=(0, 1))
        assert (scale > 0.0).all()
        assert (np.abs(a - b).max(axis=(0, 1)) < 1e-4 * scale).all()


@pytest.mark.parametrize("couples", ["contact", "free"])
def test_what_may_meet_is_varied_one_by_one(couples: str) -> None:
    scene = held(contact=couples == "contact")
    if couples == "free":
        scene.set("quadruped.base", "model")
    world = mjrig.World(scene)
    drives = drives_of(world, "quadruped")
    tracks = read_tracks(world, "quadruped", [record(mjrig.World(scene), None, 0.1)])
    stage, _ = stages_of(world, drives, tracks, 1, MotionOptions(), 0, 12)
    assert len(set(stage.tangent.trees.tolist())) == 1
