"""What touches what at the start, floors, and solver time constants."""

import pytest

import mjrig
from mjrig.components import PDController
from tests.preflight import edits, findings_of, found
from tests.wording import mentions
from tests.worlds import hinge, make_world, make_worlds

FLOOR = '<geom name="floor" type="plane" size="0 0 1"/>'


def box(height: float, *, more: str = "", option: str = "", floor: str = FLOOR) -> str:
    """A free cube of 20 cm over a floor."""
    return f"""
    <mujoco>
      <option {option}/>
      <worldbody>{floor}
        <body name="cube" pos="0 0 {height}">
          <freejoint/><geom name="cube" type="box" size="0.1 0.1 0.1"/>{more}
        </body>
      </worldbody>
    </mujoco>"""


# Contacts ---------------------------------------------------------------------------------------


def test_a_body_inside_the_floor() -> None:
    (finding,) = findings_of("penetration", box(0.08))
    assert (finding.paths, finding.here) == (["robot"], ["cube 20 mm"])
    assert finding.evidence["depth"] == pytest.approx(0.02)
    assert mentions(finding.fix, "0.02 m higher")


@pytest.mark.parametrize("height", [0.0995, 0.1, 0.5])
def test_standing_on_the_floor_is_fine(height: float) -> None:
    assert findings_of("penetration", box(height)) == []


def test_a_body_inside_another_of_the_same_robot() -> None:
    limb = '<body name="limb" pos="0.25 0 0"><joint/><geom size="0.1"/>' + (
        '<body name="tip" pos="-0.2 0 0"><joint/><geom size="0.1"/></body></body>'
    )
    (finding,) = findings_of("penetration", box(1.0, more=limb))
    assert (finding.paths, finding.here) == (["robot"], ["tip and cube 0.15 m"])
    assert finding.evidence["other"] == "robot"


def test_one_robot_inside_another() -> None:
    both = {"a": box(1.0), "b": box(1.0, floor="")}
    world = make_worlds(both, b={"pose": {"position": [0.15, 0, 0]}})
    (finding,) = found(world, "penetration")
    assert (finding.paths, finding.here) == (["b"], ["cube and cube 50 mm"])
    assert finding.evidence["other"] == "a"


def test_only_the_deepest_pairs_are_listed() -> None:
    balls = "".join(
        f'<body name="b{i}" pos="{i} 0 {0.09 + 0.001 * i}"><freejoint/><geom size="0.1"/></body>'
        for i in range(8)
    )
    xml = f"<mujoco><worldbody>{FLOOR}{balls}</worldbody></mujoco>"
    (finding,) = findings_of("penetration", xml)
    assert finding.here == [f"b{i} {10 - i} mm" for i in range(6)]
    assert finding.evidence["more"] == 2


# Floors -----------------------------------------------------------------------------------------


def over_a_floor(height: float, floor: str = FLOOR, **actor: object) -> mjrig.World:
    """A cube over the floor of another actor."""
    hall = f"<mujoco><worldbody>{floor}</worldbody></mujoco>"
    return make_worlds({"hall": hall, "robot": box(height, floor="")}, robot=actor)


def test_a_robot_below_its_own_floor() -> None:
    """Its pose would move the floor along."""
    (finding,) = findings_of("below-floor", box(-0.3))
    assert (finding.paths, finding.here) == (["robot.cube"], pytest.approx(0.4))
    assert edits(finding) == [] and mentions(finding.fix, "0.4 m higher")
    assert findings_of("penetration", box(-0.05)) == []  # said above


def test_a_robot_below_another_actors_floor() -> None:
    (finding,) = found(over_a_floor(-0.3), "below-floor")
    assert (finding.paths, finding.here) == (["robot.cube"], pytest.approx(0.4))
    assert edits(finding) == ["robot.pose.position: [0.0, 0.0, 0.4]"]


def test_raising_it_as_told_is_enough() -> None:
    world = over_a_floor(-0.3, pose={"position": [0, 0, 0.4]})
    assert found(world, "below-floor") + found(world, "penetration") == []


def test_a_robot_beside_a_floor_that_ends_is_not_below_it() -> None:
    small = FLOOR.replace("0 0 1", "1 1 1")
    assert found(over_a_floor(-0.3, small, pose={"position": [3, 0, 0]}), "below-floor") == []
    assert found(over_a_floor(-0.3, small, pose={"position": [0.5, 0, 0]}), "below-floor")


def test_a_tilted_floor_has_its_own_up() -> None:
    wall = '<geom type="plane" size="0 0 1" zaxis="1 0 0" pos="0.5 0 0"/>'
    (finding,) = findings_of("below-floor", box(1.0, floor=wall))
    assert finding.here == pytest.approx(0.6)


def test_two_floors_in_one_plane() -> None:
    world = make_worlds({"a": box(1.0), "b": box(2.0)})
    (finding,) = found(world, "two-floors")
    assert (finding.paths, finding.here, finding.expected) == (["a/floor", "b/floor"], 2, 1)
    assert edits(finding) == ["b.scenery: false"]


@pytest.mark.parametrize("pose", [{"position": [0, 0, 0.1]}, {"euler_deg": [10, 0, 0]}])
def test_floors_that_differ_are_fine(pose: dict[str, object]) -> None:
    assert found(make_worlds({"a": box(1.0), "b": box(2.0)}, b={"pose": pose}), "two-floors") == []


# Solver -----------------------------------------------------------------------------------------


def fast(option: str = "") -> str:
    return box(1.0, option=option).replace(
        "<freejoint/><geom", '<freejoint/><geom solref="0.003 1"'
    )


def test_a_time_constant_below_two_steps() -> None:
    (finding,) = findings_of("fast-solref", fast())
    assert (finding.here, finding.expected, finding.unit) == (0.003, 0.004, "s")
    assert (finding.evidence["count"], finding.evidence["constraints"]) == (1, "geoms")
    assert edits(finding) == ["sim.timestep: 0.0015"]


def test_without_refsafe_it_is_a_warning() -> None:
    world = make_world(fast(), sim={"refsafe": "disable"})
    (finding,) = found(world, "fast-solref")
    assert (finding.severity, finding.expected) == ("warning", 0.004)
    assert finding.text.endswith("refsafe is off")


def test_a_shorter_timestep_is_enough() -> None:
    assert findings_of("fast-solref", fast('timestep="0.0015"')) == []
    assert (
        findings_of("fast-solref", fast().replace("0.003 1", "-1000 -10")) == []
    )  # no time constant


def test_a_fast_joint_limit() -> None:
    xml = hinge(joint='range="-1 1" solreflimit="0.001 1"')
    (finding,) = findings_of("fast-solref", xml, PDController(kp=1, kv=1))
    assert (finding.here, finding.evidence["constraints"]) == (0.001, "joint limits")


def test_a_world_without_anything() -> None:
    from mjrig.lab.check.preflight import findings

    assert findings(mjrig.World(mjrig.Scene())) == []
