"""Feedback that shakes a robot apart, and fixes that do what they promise."""

import re
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import mjrig
from mjrig.components import PDController, PIDController
from mjrig.core.findings import Finding
from tests.preflight import facts, findings_of, found
from tests.worlds import arm, hinge, make_scene, make_world, make_worlds

INERTIA = 0.01
HUGE = 1e30
GEARED = '<motor name="drive" joint="swing" gear="6.33"/>'
CHAIN = '<motor name="a" joint="shoulder" gear="2"/><motor name="b" joint="elbow" gear="-3"/>'


def grows(world: mjrig.World) -> bool:
    """Whether a small push has become a large motion in the end."""
    robot = world["robot"]
    robot.set_targets(0.0)
    world.data.qvel[:] = 1e-12
    for _ in range(20):
        world.step(500)
        if world.events or float(abs(world.data.qvel).max()) > 1e-9:
            return True
    return False


def law(**given: Any) -> PDController:
    return PDController(**{"torque_limit": HUGE, **given})


# The numbers ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kp", "kv", "text"),
    [
        (0.0, 21.0, "kv·dt/I = 2.1, bound 2"),
        (30000.0, 6.0, "kp·dt²/I + 2·kv·dt/I = 4.2, bound 4"),
    ],
)
def test_an_unstable_joint(kp: float, kv: float, text: str) -> None:
    (finding,) = found(make_world(hinge(inertia=INERTIA), [law(kp=kp, kv=kv)]), "unstable-pd")
    assert (finding.severity, finding.where) == ("error", "robot.drive")
    assert (finding.evidence["law"], finding.evidence["numbers"]) == ("explicit PD", text)


@pytest.mark.parametrize(
    ("kp", "kv", "text"),
    [
        (0.0, 9.0, None),
        (0.0, 11.0, "1.81 times these gains: kv·dt/I = 1.1, bound 2"),
        (19000.0, 0.0, None),
        (30000.0, 0.0, "1.33 times these gains: kp·dt²/I + 2·kv·dt/I = 3, bound 4"),
    ],
)
def test_a_joint_close_to_the_bound(kp: float, kv: float, text: str | None) -> None:
    world = make_world(hinge(inertia=INERTIA), [law(kp=kp, kv=kv)])
    assert found(world, "unstable-pd") == []
    texts = [f.text for f in found(world, "close-to-unstable")]
    said = f"explicit PD is close to its stability bound, {text}"
    assert texts == ([] if text is None else [said])


def test_gear_does_not_change_the_judgement() -> None:
    plain = findings_of("unstable-pd", hinge(inertia=INERTIA), law(kp=0, kv=21))
    assert (
        plain == findings_of("unstable-pd", hinge(GEARED, inertia=INERTIA), law(kp=0, kv=21)) != []
    )


@pytest.mark.parametrize("attribute", ['armature="0.02"', 'damping="40"'])
def test_armature_and_damping_of_the_joint_count(attribute: str) -> None:
    assert findings_of("unstable-pd", hinge(inertia=INERTIA), law(kp=0, kv=30))
    assert (
        findings_of("unstable-pd", hinge(inertia=INERTIA, joint=attribute), law(kp=0, kv=30)) == []
    )


def test_a_delayed_command_is_no_matter() -> None:
    """The measurement is not delayed, only the command: it cannot shake."""
    late = law(kp=0, kv=19, delay={"steps": 20})
    assert findings_of("unstable-pd", hinge(inertia=INERTIA), late.copy()) == []
    assert not grows(make_world(hinge(inertia=INERTIA), [late]))


def test_a_disabled_controller_shakes_nothing() -> None:
    assert findings_of("unstable-pd", hinge(inertia=INERTIA), law(kp=0, kv=99, enabled=False)) == []


def test_the_joints_that_shake_are_named_and_no_others() -> None:
    world = make_world(arm(), [law(kp=[10, 0], kv=[1, 300])])
    (finding,) = found(world, "unstable-pd")
    assert finding.names == ("b",)


def test_joints_that_only_shake_together() -> None:
    """Alone each is stable with kv up to 2 I / dt; on one chain they are not."""
    world = make_world(arm(), [law(kp=0, kv=0)])
    kv = 0.0
    for kv in range(20, 400, 2):
        alone = [make_world(arm(), [law(actuators=n, kp=0, kv=kv)]) for n in ("a", "b")]
        world = make_world(arm(), [law(kp=0, kv=kv)])
        if found(world, "unstable-pd"):
            assert not any(found(one, "unstable-pd") for one in alone)
            break
    (finding,) = found(world, "unstable-pd")
    assert finding.evidence["coupled"]
    assert grows(world)


def test_too_high_an_integral_gain() -> None:
    xml, gains = hinge(inertia=INERTIA), {"kp": 10.0, "kv": 1.0, "torque_limit": HUGE}
    wild = make_world(xml, [PIDController(ki=3000, **gains)])
    finding = fix_of(wild)
    assert (finding.evidence["law"], finding.evidence["integral"]) == ("explicit PID", True)
    assert grows(wild)
    ki = number(finding, "ki:")
    assert ki == pytest.approx(10.0 * 1.0 / INERTIA, rel=0.2)  # kp·kv = ki·I in continuous time
    assert not grows(make_world(xml, [PIDController(ki=ki, **gains)]))
    assert grows(make_world(xml, [PIDController(ki=1.3 * ki, **gains)]))


def test_a_position_actuator_of_the_model() -> None:
    servo = '<position name="servo" joint="swing" kp="10" kv="25" gear="1"/>'
    world = make_world(hinge(servo, inertia=INERTIA))
    (finding,) = found(world, "unstable-pd")
    assert finding.text.startswith("the actuator's own feedback is unstable in this pose")
    assert "sim: {integrator: implicitfast}" in finding.fix
    assert grows(world)
    implicit = make_world(hinge(servo, inertia=INERTIA), sim={"integrator": "implicitfast"})
    assert found(implicit, "unstable-pd") == []
    assert not grows(implicit)


def test_a_spring_without_damping() -> None:
    assert facts("undamped", hinge(), law(kp=10, kv=0)) == [(["robot.drive"], 0.0, None)]
    assert findings_of("undamped", hinge(joint='damping="0.1"'), law(kp=10, kv=0)) == []
    assert findings_of("undamped", hinge(), law(kp=10, kv=1)) == []


# What runs the law ------------------------------------------------------------------------------


@pytest.mark.parametrize("integrator", ["Euler", "RK4", "implicit", "implicitfast", "discrete"])
def test_a_law_of_ours_is_explicit_under_every_integrator(integrator: str) -> None:
    world = make_world(hinge(inertia=INERTIA), [law(kp=0, kv=25)], sim={"integrator": integrator})
    assert len(found(world, "unstable-pd")) == 1
    assert grows(world)


@pytest.mark.parametrize("integrator", ["implicit", "implicitfast", "discrete"])
def test_implicit_actuation_holds_where_explicit_does_not(integrator: str) -> None:
    sim = {"integrator": integrator, "actuation": "implicit"}
    world = make_world(hinge(inertia=INERTIA), [law(kp=0, kv=25)], sim=sim, execution="auto")
    assert world.execution == "native"
    assert found(world, "unstable-pd") == []
    assert not grows(world)


def test_implicit_damping_does_not_save_a_stiff_spring() -> None:
    """implicitfast takes kv at the end of the step, kp at its start; discrete takes both."""
    stiff = law(kp=60000, kv=1)
    judged = {}
    for integrator in ("implicitfast", "discrete"):
        sim = {"integrator": integrator, "actuation": "implicit"}
        world = make_world(hinge(inertia=INERTIA), [stiff.copy()], sim=sim, execution="auto")
        judged[integrator] = bool(found(world, "unstable-pd"))
        assert grows(world) == judged[integrator]
    assert judged == {"implicitfast": True, "discrete": False}


def test_an_implicit_effort_holds() -> None:
    world = make_world(hinge(inertia=INERTIA), [law(kp=9000, kv=25, effort="implicit")])
    assert found(world, "unstable-pd") == []


# Fixes ------------------------------------------------------------------------------------------


def fix_of(world: mjrig.World) -> Finding:
    (finding,) = found(world, "unstable-pd")
    return finding


def number(finding: Finding, what: str) -> float:
    match = re.search(rf"{what} ([0-9.e+-]+) at (?:most|least)", finding.fix)
    assert match, finding.fix
    return float(match[1])


def changed(finding: Finding, gains: dict[str, float], **new: float) -> dict[str, Any]:
    """The gains with some of those the finding is about changed."""
    given = {n: {**dict.fromkeys(finding.names, v), "default": gains[n]} for n, v in new.items()}
    return {**gains, **given}


CASES = {
    "hinge": (hinge(inertia=INERTIA), {"kp": 500.0, "kv": 40.0}),
    "geared hinge": (hinge(GEARED, inertia=INERTIA), {"kp": 500.0, "kv": 40.0}),
    "chain": (arm(CHAIN), {"kp": 500.0, "kv": 400.0}),
    "decimated hinge": (hinge(GEARED, inertia=INERTIA), {"kp": 5.0, "kv": 9.0, "decimation": 5}),
    "decimated chain": (arm(CHAIN), {"kp": 50.0, "kv": 90.0, "decimation": 5}),
}
each_case = pytest.mark.parametrize("case", CASES)


@each_case
def test_what_is_called_unstable_grows(case: str) -> None:
    xml, gains = CASES[case]
    world = make_world(xml, [law(**gains)])
    assert fix_of(world)
    assert grows(world)


@each_case
def test_the_longest_timestep(case: str) -> None:
    xml, gains = CASES[case]
    step = number(fix_of(make_world(xml, [law(**gains)])), "timestep:")
    assert not grows(make_world(xml, [law(**gains)], sim={"timestep": step}))
    assert grows(make_world(xml, [law(**gains)], sim={"timestep": 1.15 * step}))


@each_case
def test_the_highest_damping(case: str) -> None:
    xml, gains = CASES[case]
    finding = fix_of(make_world(xml, [law(**gains)]))
    kv = number(finding, "kv:")
    assert not grows(make_world(xml, [law(**changed(finding, gains, kv=kv))]))
    assert grows(make_world(xml, [law(**changed(finding, gains, kv=1.15 * kv))]))


@pytest.mark.parametrize(
    "xml", [hinge(GEARED, inertia=INERTIA), arm(CHAIN)], ids=["hinge", "chain"]
)
def test_the_highest_stiffness(xml: str) -> None:
    gains = {"kp": 2e6, "kv": 1.0}
    finding = fix_of(make_world(xml, [law(**gains)]))
    kp = number(finding, "kp:")
    assert not grows(make_world(xml, [law(**changed(finding, gains, kp=kp))]))
    assert grows(make_world(xml, [law(**changed(finding, gains, kp=1.15 * kp))]))


def test_a_longer_tick_needs_more_damping() -> None:
    xml, gains = hinge(GEARED, inertia=INERTIA), {"kp": 40.0, "kv": 0.1, "decimation": 10}
    world = make_world(xml, [law(**gains)])
    finding = fix_of(world)
    assert finding.evidence["tick"] == pytest.approx(0.01)
    assert grows(world)
    kv = number(finding, "kv:")
    assert f"kv: {kv:g} at least" in finding.fix
    assert not grows(make_world(xml, [law(**{**gains, "kv": kv})]))
    assert grows(make_world(xml, [law(**{**gains, "kv": 0.85 * kv})]))


def test_the_longest_tick() -> None:
    xml, gains = CASES["decimated hinge"]
    ticks = int(number(fix_of(make_world(xml, [law(**gains)])), "decimation:"))
    assert not grows(make_world(xml, [law(**{**gains, "decimation": ticks})]))
    assert grows(make_world(xml, [law(**{**gains, "decimation": ticks + 1})]))


def test_implicit_actuation_is_offered_where_it_helps() -> None:
    xml, gains = CASES["chain"]
    finding = fix_of(make_world(xml, [law(**gains)]))
    ways = finding.evidence["ways"]
    assert "sim: {integrator: implicitfast, actuation: implicit}" in ways
    sim = {"integrator": "implicitfast", "actuation": "implicit"}
    assert not grows(make_world(xml, [law(**gains)], sim=sim, execution="auto"))


def test_implicit_actuation_is_not_offered_where_it_cannot_be() -> None:
    xml, gains = CASES["decimated hinge"]
    assert "implicitfast" not in fix_of(make_world(xml, [law(**gains)])).fix
    stiff = fix_of(make_world(hinge(inertia=INERTIA), [law(kp=60000, kv=1)])).fix
    assert "implicitfast" not in stiff
    assert "effort: implicit" in stiff


def test_twice_the_room() -> None:
    world = make_world(hinge(inertia=INERTIA), [law(kp=0, kv=15)])
    (finding,) = found(world, "close-to-unstable")
    assert finding.fix == "timestep: 0.00066 doubles the margin"
    better = make_world(hinge(inertia=INERTIA), [law(kp=0, kv=15)], sim={"timestep": 0.00066})
    assert found(better, "close-to-unstable") == []


def test_copies_of_a_robot_are_judged_alike() -> None:
    grid = {"count": [3], "spacing": [0.7]}
    with TemporaryDirectory() as folder:
        given = {"robot": {"components": [law(kp=0, kv=25)], "replicate": grid}}
        world = mjrig.World(make_scene({"robot": hinge(inertia=INERTIA)}, folder, given, None))
    (finding,) = found(world, "unstable-pd")
    assert finding.names == tuple(f"robot_{i}.drive" for i in range(3))


def test_robots_that_only_differ_in_weight_are_judged_apart() -> None:
    models = {"light": hinge(inertia=INERTIA), "heavy": hinge(inertia=2 * INERTIA)}
    laws = {name: {"components": [law(kp=0, kv=25)]} for name in models}
    world = make_worlds(models, **laws)
    assert [f.where for f in found(world, "unstable-pd")] == ["light.drive"]
    assert [f.where for f in found(world, "close-to-unstable")] == ["heavy.drive"]
