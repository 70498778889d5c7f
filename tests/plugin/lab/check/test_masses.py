"""Masses and inertias that no real robot has."""

import pytest

from mjrig.components import PDController
from tests.preflight import facts, findings_of, found
from tests.wording import mentions
from tests.worlds import hinge, make_world


def links(*bodies: str, armature: float = 0.0) -> str:
    """A chain of hinges, each body with its own inertial and geoms."""
    text = ""
    for i, body in reversed(list(enumerate(bodies))):
        joint = f'<joint axis="0 1 0" armature="{armature}"/>'
        text = f'<body name="link{i}" pos="0.1 0 0">{joint}{body}{text}</body>'
    return f"<mujoco><worldbody>{text}</worldbody></mujoco>"


def inertial(mass: float, inertia: str) -> str:
    return f'<inertial pos="0 0 0" mass="{mass}" diaginertia="{inertia}"/>'


BALL = '<geom size="0.05" contype="0" conaffinity="0"/>'
FINE = inertial(1, "1e-3 1e-3 1e-3") + BALL


def every_code(xml: str) -> set[str]:
    from mjrig.lab.check.preflight import findings

    return {f.kind for f in findings(make_world(xml))} - {"no-actuators"}


def test_bodies_in_order() -> None:
    assert every_code(links(FINE, FINE)) == set()
    assert every_code(links(BALL, BALL)) == set()


def test_an_inertia_wider_than_the_body() -> None:
    wide = inertial(1, "0.05 0.05 0.05") + BALL
    ((where, here, reach),) = facts("inertia-too-large", links(FINE, wide))
    assert (where, reach) == (["robot.link1"], {"link1": pytest.approx(0.05)})
    assert here == {"link1": pytest.approx(0.05**0.5)}


def test_a_point_mass() -> None:
    point = inertial(1, "1e-8 1e-8 1e-8") + BALL
    ((where, here, reach),) = facts("inertia-too-small", links(FINE, point))
    assert (where, reach) == (["robot.link1"], {"link1": pytest.approx(0.05)})
    assert here == {"link1": pytest.approx(1e-4)}


def test_an_inertia_no_body_has() -> None:
    """MuJoCo refuses to compile one; a live edit or a binary model may still have it."""
    world = make_world(links(FINE))
    world.model.body_inertia[1] = (1e-3, 1e-3, 3e-3)
    (finding,) = found(world, "impossible-inertia")
    assert (finding.where, finding.here) == ("robot.link0", [1e-3, 1e-3, 3e-3])


def test_a_rod_is_possible() -> None:
    world = make_world(links(FINE))
    world.model.body_inertia[1] = (0.0, 1e-3, 1e-3)
    assert found(world, "impossible-inertia") == []


def test_a_part_that_weighs_next_to_nothing() -> None:
    tiny = inertial(1e-7, "1e-10 1e-10 1e-10") + BALL
    (finding,) = findings_of("tiny-mass", links(FINE, tiny))
    assert finding.paths == ["robot.link1"]
    assert mentions(finding.text, "1e-07 kg … 1 kg")


def test_bodies_welded_together_are_one_part() -> None:
    tip = f'<body name="sensor" pos="0 0 0.1">{inertial(1e-7, "1e-10 1e-10 1e-10")}{BALL}</body>'
    assert findings_of("tiny-mass", links(FINE + tip)) == []


def test_a_light_link_that_carries_a_heavy_one() -> None:
    light = inertial(1e-3, "1e-6 1e-6 1e-6") + BALL
    heavy = inertial(10, "1e-2 1e-2 1e-2") + BALL
    (finding,) = findings_of("mass-ratio", links(light, heavy))
    assert finding.paths == ["robot.link0"]
    assert mentions(finding.text, "link0 0.001 kg … 10 kg")
    assert findings_of("mass-ratio", links(light, heavy, armature=0.01)) == []
    assert findings_of("mass-ratio", links(heavy, light)) == []


def test_an_outermost_part_without_a_geom() -> None:
    bare = inertial(1, "1e-3 1e-3 1e-3")
    assert facts("no-shape", links(FINE, bare)) == [(["robot.link1"], None, None)]
    assert findings_of("no-shape", links(bare, FINE)) == []  # a joint of several axes, not an end
    assert len(findings_of("no-shape", hinge(), PDController())) == 1


def test_what_does_not_move_may_weigh_what_it_likes() -> None:
    post = f'<body name="post">{inertial(1, "9 9 9")}{BALL}</body>'
    still = f"<mujoco><worldbody>{post}</worldbody></mujoco>"
    assert every_code(still) == set()
