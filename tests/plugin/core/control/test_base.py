"""The base of a robot is the free body its actuators move."""

import numpy as np
import pytest

from mjrig.components import PDController
from mjrig.core.control.actor_in_world import base_address
from mjrig.lab.replay.comparison import base_of
from mjrig.lab.replay.matching import base_joint
from tests.worlds import make_world

CUBE = '<body name="cube" pos="0 0 1"><freejoint/><geom type="box" size=".02 .02 .02"/></body>'
HAND = """
<body name="palm" pos="0 0 .5">{root}<geom size=".05"/>
  <body name="finger"><joint name="j" axis="0 1 0"/><geom size=".02" pos=".1 0 0"/></body>
</body>"""


def model(*bodies: str, actuator: str = '<motor name="j" joint="j"/>', more: str = "") -> str:
    world = "".join(bodies)
    return f"<mujoco><worldbody>{world}</worldbody>{more}<actuator>{actuator}</actuator></mujoco>"


def address(xml: str) -> int | None:
    return base_address(make_world(xml, [PDController()])["robot"])


def test_a_free_object_is_no_base_wherever_it_stands() -> None:
    hand = HAND.format(root="")
    assert address(model(CUBE, hand)) is None
    assert address(model(hand, CUBE)) is None


def test_a_free_robot_has_a_base_beside_free_objects() -> None:
    robot = HAND.format(root="<freejoint/>")
    assert address(model(robot, CUBE)) == 0
    assert address(model(CUBE, robot)) == 7


def test_a_tendon_moves_a_base_too() -> None:
    tendon = '<tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon>'
    robot = HAND.format(root="<freejoint/>")
    given = model(CUBE, robot, actuator='<motor name="t" tendon="t"/>', more=tendon)
    assert address(given) == 7


def test_without_actuators_it_is_the_first_body() -> None:
    assert address(model(HAND.format(root="<freejoint/>"), actuator="")) == 0


@pytest.mark.parametrize("is_free", [True, False])
@pytest.mark.parametrize("cubes", [(1, 0), (0, 1), (2, 1), (0, 0)])
def test_a_replay_looks_at_the_same_base(is_free: bool, cubes: tuple[int, int]) -> None:
    """The fall of a cube that stands before or behind a robot in the file is no fall of it."""
    robot = HAND.format(root="<freejoint/>" if is_free else "")
    numbered = [CUBE.replace("cube", f"cube{i}") for i in range(sum(cubes))]
    world = make_world(model(*numbered[: cubes[0]], robot, *numbered[cubes[0] :]), [PDController()])
    rows = np.tile(world.data.qpos, (3, 1))
    joint, path = base_joint(world, world["robot"]), base_of(world, world["robot"], rows)
    if not is_free:
        assert joint is None and path is None
        return
    assert joint is not None and joint.qpos.start == 7 * cubes[0]
    assert path is not None and path.position[0].tolist() == [0.0, 0.0, 0.5]
