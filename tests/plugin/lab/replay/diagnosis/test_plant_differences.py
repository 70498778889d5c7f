"""Differences between two plants: which count, and as how many findings."""

import pytest

from mjrig.core.control.plant import Plant
from mjrig.lab.replay.diagnosis.plant_hypotheses import PlantDifference, differences

JOINTS = [f"j{i}" for i in range(8)]


def found(
    off: int, factor: float = 1.5, what: str = "kp", *, policy: bool = False
) -> list[PlantDifference]:
    here = dict.fromkeys(JOINTS, 40.0)
    there = {j: v * (factor if i < off else 1.0) for i, (j, v) in enumerate(here.items())}
    recorded, mine = (Plant(joints={what: values}) for values in (there, here))
    return differences(recorded, mine, {j: j for j in JOINTS}, policy=policy)


@pytest.mark.parametrize(("off", "count"), [(1, 1), (4, 4), (5, 1), (8, 1)])
def test_a_property_of_many_joints_is_one_difference(off: int, count: int) -> None:
    assert len(found(off)) == count
    assert {j for d in found(off) for j in d.joints} == set(JOINTS[:off])


@pytest.mark.parametrize(("factor", "count"), [(1.0 + 0.7e-6, 0), (1.0 + 1.5e-6, 1)])
def test_files_round(factor: float, count: int) -> None:
    assert len(found(1, factor)) == count


@pytest.mark.parametrize("policy", [True, False])
def test_what_only_a_policy_depends_on_is_compared_for_policies(policy: bool) -> None:
    assert bool(found(1, what="action_scale", policy=policy)) == policy


def test_of_the_whole_robot() -> None:
    recorded = Plant(overall={"timestep": 1e-3, "mujoco": "3"})
    (difference,) = differences(recorded, Plant(overall={"timestep": 2e-3, "mujoco": "4"}), {})
    assert (difference.what, difference.where) == ("timestep", "")
    assert (difference.recorded_value(), difference.here_value()) == (1e-3, 2e-3)


def test_values_that_are_alike_are_one() -> None:
    alike, each = found(2)[0], PlantDifference("kp", {"a": 1, "b": 2}, {"a": 3, "b": 3}, ("a", "b"))
    assert (alike.recorded_value(), alike.here_value()) == (60.0, 40.0)
    assert (each.recorded_value(), each.here_value()) == ({"a": 1, "b": 2}, 3)
