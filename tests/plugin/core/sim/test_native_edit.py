"""Native gains of a running robot: written into its model as a new world would compile them."""

import random
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.core.errors import PropertyError
from mjrig.core.sim.runtime_edits import retune
from tests.campaign import Tally
from tests.plugin.core.model.test_model_edits import same_model
from tests.plugin.native_models import native_gains, some_actuators, some_values, xml_of
from tests.wording import regex
from tests.worlds import make_world


def some_gains(rng: random.Random, actuators: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """Values of `native_gains` for some of the actuators."""
    some = [(t, g) for t, g in actuators if rng.random() < 0.7]
    values = {str(g["name"]): some_values(rng, t, g) for t, g in some}
    return native_gains(values)


@pytest.mark.campaign
def test_native_gains_of_a_running_robot_are_those_of_a_new_world(tally: Tally) -> None:
    taken = 0
    for rng in tally.cases("native gains live against a new world", 12, 3_000):
        actuators = some_actuators(rng)
        xml = xml_of(actuators)
        world = make_world(xml, native_gains=some_gains(rng, actuators))
        robot = world["robot"]
        before = world.model.actuator_biasprm.copy()
        gains = some_gains(rng, actuators)
        new = make_world(xml, native_gains=gains)
        if not retune(robot, new.scene.actors[0]):
            if not np.array_equal(world.model.actuator_biasprm, before):
                tally.found(f"refused, but changed: {actuators} with {gains}")
            continue
        taken += 1
        try:
            same_model(new.model, world.model)
            assert robot.actuators == new["robot"].actuators
            assert [s.gains() for s in robot.servos] == [s.gains() for s in new["robot"].servos]
            world.reset()
            for one in (world, new):
                one.step(20)
            assert world.data.qpos.tobytes() == new.data.qpos.tobytes()
        except AssertionError as error:
            tally.found(f"{error}: {actuators} with {gains}")
    assert taken > tally.tried / 5


def test_what_does_not_fit_leaves_the_robot_as_it_was() -> None:
    xml = xml_of([("position", {"name": "a", "joint": "turn", "kp": 10.0}),
                  ("motor", {"name": "b", "joint": "bend"})])  # fmt: skip
    world = make_world(xml)
    wrong = mjrig.Actor(name="robot", native_gains={"kp": {"a": 20, "b": 5}})
    with pytest.raises(PropertyError, match=regex("'b' is a motor actuator …")):
        retune(world["robot"], wrong)
    assert world.model.actuator_gainprm[:, 0].tolist() == [10.0, 1.0]
