"""Where the pre-flight begins to report: each case is on one of the two sides of a threshold."""

import numpy as np
import pytest

from mjrig.components import PDController
from mjrig.core.findings import Level
from mjrig.lab.check.closed_loop import Carrier, LinearPlant, Loop, is_stable, transition
from mjrig.lab.check.preflight import findings
from mjrig.lab.check.stability import highest_below, nearest_below
from tests.worlds import hinge, make_world

SOFT = {"kp": 1.0, "kv": 0.1}


def _kinds(xml: str, *components: PDController, **actor: object) -> set[str]:
    return {f.kind for f in findings(make_world(xml, components, **actor))}  # type: ignore[arg-type]


# Masses -----------------------------------------------------------------------------------------


def _chain(*links: tuple[float, float], size: float = 0.05, armature: float = 0.0) -> str:
    """Hinges in a row, each with a ball of a mass and a radius of gyration."""
    text = ""
    for mass, radius in reversed(links):
        inertia = " ".join([repr(mass * radius**2)] * 3)
        text = (
            f'<body pos="0.001 0 0"><joint axis="0 1 0" armature="{armature}"/>'
            f'<inertial pos="0 0 0" mass="{mass!r}" diaginertia="{inertia}"/>'
            f'<geom size="{size}" contype="0" conaffinity="0"/>{text}</body>'
        )
    compiler = '<compiler boundmass="0" boundinertia="0"/>'
    return f"<mujoco>{compiler}<worldbody>{text}</worldbody></mujoco>"


@pytest.mark.parametrize(("mass", "is_tiny"), [(0.8e-5, True), (1.25e-5, False)])
def test_a_part_of_ten_milligrams_is_tiny(mass: float, is_tiny: bool) -> None:
    assert ("tiny-mass" in _kinds(_chain((1.0, 0.03), (mass, 0.03)))) is is_tiny


@pytest.mark.parametrize(("share", "is_tiny"), [(0.8e-6, True), (1.25e-6, False)])
def test_a_part_of_a_millionth_of_its_robot_is_tiny(share: float, is_tiny: bool) -> None:
    assert ("tiny-mass" in _kinds(_chain((1000.0, 0.03), (1000.0 * share, 0.03)))) is is_tiny


@pytest.mark.parametrize(("ratio", "is_reported"), [(800.0, False), (1250.0, True)])
def test_a_link_that_carries_a_thousand_times_its_mass(ratio: float, is_reported: bool) -> None:
    assert ("mass-ratio" in _kinds(_chain((0.01, 0.03), (0.01 * ratio, 0.03)))) is is_reported


@pytest.mark.parametrize(
    ("share", "kind"),
    [(0.016, "inertia-too-small"), (0.025, ""), (1.2, ""), (1.9, "inertia-too-large")],
)
def test_a_radius_of_gyration_is_between_a_fiftieth_and_one_and_a_half_of_the_reach(
    share: float, kind: str
) -> None:
    kinds = _kinds(_chain((1.0, share * 0.05)))
    assert kinds & {"inertia-too-small", "inertia-too-large"} == ({kind} if kind else set())


# Contacts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("depth", "is_reported"), [(0.8e-3, False), (1.25e-3, True)])
def test_bodies_that_start_a_millimetre_inside_each_other(depth: float, is_reported: bool) -> None:
    floor = '<geom type="plane" size="1 1 1"/>'
    ball = f'<body pos="0 0 {0.1 - depth}"><freejoint/><geom size="0.1"/></body>'
    xml = f"<mujoco><worldbody>{floor}{ball}</worldbody></mujoco>"
    assert ("penetration" in _kinds(xml)) is is_reported


@pytest.mark.parametrize(("distance", "are_one"), [(0.8e-3, True), (1.25e-3, False)])
def test_floors_a_millimetre_apart_are_one(distance: float, are_one: bool) -> None:
    floors = "".join(f'<geom type="plane" size="1 1 1" pos="0 0 {z}"/>' for z in (0, distance))
    ball = '<body pos="0 0 1"><freejoint/><geom size="0.1"/></body>'
    xml = f"<mujoco><worldbody>{floors}{ball}</worldbody></mujoco>"
    assert ("two-floors" in _kinds(xml)) is are_one


# Start ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("outside", "is_reported"), [(0.8e-3, False), (1.25e-3, True)])
def test_a_joint_may_start_a_thousandth_outside_its_range(
    outside: float, is_reported: bool
) -> None:
    xml = hinge(joint='range="-1 1"', keys=f'<key name="home" qpos="{1.0 + outside}"/>')
    assert (
        "start-out-of-range" in _kinds(xml, PDController(**SOFT), keyframe="home")
    ) is is_reported


@pytest.mark.parametrize(
    ("kind", "droop", "is_reported"),
    [
        ("hinge", 0.04, False), ("hinge", 0.0625, True),
        ("slide", 0.004, False), ("slide", 0.00625, True),
    ],
)  # fmt: skip
def test_a_sag_of_three_degrees_or_five_millimetres(
    kind: str, droop: float, is_reported: bool
) -> None:
    """kp holds 9.81 N on a slide, and on a hinge the same at a lever of 0.4 m."""
    arm = 0.4 if kind == "hinge" else 1.0
    axis = "0 1 0" if kind == "hinge" else "0 0 1"
    xml = f"""
    <mujoco><worldbody><body>
      <joint name="j" type="{kind}" axis="{axis}"/>
      <inertial pos="0.4 0 0" mass="1" diaginertia="0.1 0.1 0.1"/>
    </body></worldbody><actuator><motor name="m" joint="j"/></actuator></mujoco>"""
    law = PDController(kp=9.81 * arm / droop, kv=20.0)
    assert ("droops" in _kinds(xml, law)) is is_reported


# Limits -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("past", "is_reported"), [(0.2, False), (0.3125, True)])
def test_targets_may_lead_a_quarter_of_the_range_past_it(past: float, is_reported: bool) -> None:
    end = 1.0 + 2.0 * past
    servo = f'<position name="p" joint="swing" kp="5" kv="1" ctrlrange="-1 {end}"/>'
    xml = hinge(servo, joint='range="-1 1"')
    assert ("ctrlrange-past-joint" in _kinds(xml)) is is_reported


# Stability --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("share", "kind"),
    [(0.4, ""), (0.47, ""), (0.53, "close-to-unstable"), (0.9, "close-to-unstable")],
)
def test_gains_that_twice_as_much_makes_unstable_are_close(share: float, kind: str) -> None:
    """A held kv is unstable from 2·I/h on."""
    law = PDController(kp=0.01, kv=share * 2.0 * 0.5 / 0.001)
    reported = {
        f.kind for f in findings(make_world(hinge(), [law])) if f.severity is not Level.NOTE
    }
    assert reported & {"close-to-unstable", "unstable-pd"} == ({kind} if kind else set())


def _joint(damping: float = 0.0) -> LinearPlant:
    one = np.ones((1, 1))
    return LinearPlant(one, damping * one, 0.0 * one, 0.001, "Euler")


def _loop(every: int, kv: float = 0.0) -> Loop:
    nothing = np.zeros(1)
    return Loop(np.ones((1, 1)), nothing, np.array([kv]), nothing, every, Carrier.HELD)


@pytest.mark.parametrize(("growth", "stable"), [(0.8e-6, True), (1.25e-6, False)])
def test_a_growth_of_a_millionth_per_tick_is_rounding(growth: float, stable: bool) -> None:
    assert is_stable(_joint(), [_loop(1, kv=-growth / 0.001)]) is stable


@pytest.mark.parametrize(("ticks", "steps"), [((15, 16), 240), ((5, 49), 49)])
def test_controllers_are_judged_over_a_common_period_of_240_steps(
    ticks: tuple[int, int], steps: int
) -> None:
    """A free joint moves by its velocity times the time."""
    matrix = transition(_joint(), [_loop(every) for every in ticks])
    assert matrix[0, 1] == pytest.approx(steps * 0.001)


@pytest.mark.parametrize(("top", "island", "expected"), [(64, 45, 45), (100, 55, 0)])
def test_up_to_64_decimations_are_tried_one_by_one(top: int, island: int, expected: int) -> None:
    """Halves of a larger one come first, and miss what lies between them."""
    assert highest_below(lambda n: n == island, top) == expected


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0.0, 7e-8, 7e-8), (0.0, 5e-8, None), (0.6, 0.72, 0.72), (0.3, 0.36, 0.36), (0.51, 0.7, None)],
)
def test_smaller_factors_are_tried_by_roots_of_two_down_to_2_to_the_minus_24(
    low: float, high: float, expected: float | None
) -> None:
    factor = nearest_below(lambda f: low <= f <= high)
    assert factor == (expected if expected is None else pytest.approx(expected, rel=0.011))


# Motors -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("share", "is_reported"), [(1.008, False), (1.0125, True)])
def test_an_armature_that_differs_from_its_motor_by_a_percent(
    share: float, is_reported: bool
) -> None:
    (_, own), *_ = _armatures(0.5)
    assert isinstance(own, float)
    dynamics = {"armature": {"knee": own * share}}
    for joint, more in ((own * share, {}), (0.0, {"dynamics": dynamics})):
        assert bool(_armatures(joint, **more)) is is_reported


def _armatures(armature: float, **actor: object) -> list[tuple[object, object]]:
    """Armatures, and those of the joint's motor, where they differ."""
    xml = f'''<mujoco><worldbody><body><joint name="knee" axis="0 1 0" armature="{armature}"/>
    <geom size=".1"/></body></worldbody><actuator><motor joint="knee"/></actuator></mujoco>'''
    world = make_world(xml, motors="mx-106", **actor)  # type: ignore[arg-type]
    return [(f.here, f.expected) for f in findings(world) if f.kind == "motor-armature"]
