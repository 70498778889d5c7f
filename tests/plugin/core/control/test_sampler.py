from collections.abc import Sequence

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.components import PDController
from mjrig.core.arrays import FloatArray
from mjrig.core.control.articulation import Articulation
from mjrig.core.control.efforts import AppliedEffort
from mjrig.core.control.sampler import FIELDS, BindingReader, Sampler, by_column, reader
from mjrig.core.sim.batch import Batch
from mjrig.lab.rollouts.hosts import BatchHost, WorldHost
from mjrig.lab.rollouts.joint_bench import ResponseRecorder
from mjrig.lab.rollouts.tracks import record
from tests.worlds import hinge, make_world

#: Two motors on one joint, the second through a gear, and a joint range that cuts their sum.
TWO = '<motor name="a" joint="swing"/><motor name="b" joint="swing" gear="2"/>'
#: The second one takes a target: no law can be bound to it.
MIXED = '<motor name="a" joint="swing"/><position name="b" joint="swing" kp="30"/>'


#: A joint that a tendon and gravity compensation act on too, and one that they share.
PULLED = """
<mujoco><compiler autolimits="true"/><option timestep="0.001" integrator="{integrator}"/>
<worldbody><body gravcomp="1"><joint name="j" axis="0 1 0" armature="0.1" {limits}/>
<geom size="0.1" pos="0.2 0 0" mass="0.3"/><body pos="0.4 0 0"><joint name="k" axis="0 1 0"
armature="0.1"/><geom size="0.1" mass="0.1" pos="0.1 0 0"/></body></body></worldbody>
<tendon><fixed name="t"><joint joint="j" coef="2"/><joint joint="k" coef="-1"/></fixed></tendon>
<actuator><motor name="m" joint="j"/><motor name="w" tendon="t" gear="3"/></actuator></mujoco>"""
COUNTED = 'actuatorfrcrange="-1 1" actuatorgravcomp="true"'


def pulled(limits: str = COUNTED, integrator: str = "Euler") -> mjrig.World:
    return make_world(
        PULLED.format(limits=limits, integrator=integrator),
        [PDController(kp=0, kv=0, actuators="m")],
        execution="auto",
    )


def two_motors(limits: str, actuators: str = TWO) -> mjrig.World:
    return make_world(hinge(actuators, joint=f'actuatorfrcrange="{limits}"'), [PDController(kp=0)])


def command(robot: Articulation, values: Sequence[float]) -> None:
    robot.setpoints.feedforward[:] = values


def everybody(world: mjrig.World, robot: Articulation) -> dict[str, FloatArray]:
    """The applied effort per binding, of everyone who tells it."""
    recorder = ResponseRecorder(robot, list(robot.bindings))
    recorder.take(world.time)
    signals = [reader(robot, i, "applied_effort") for i in range(len(robot.bindings))]
    return {
        "articulation": robot.applied_effort,
        "actuators": AppliedEffort(by_column(robot), robot.actuators)(world.data),
        "host": WorldHost(world, robot.name).effort[0],
        "bench": recorder.values("applied_effort")[0],
        "signals": np.array([read() for read in signals if read is not None]),
    }


@pytest.mark.parametrize("limits", ["-2 2", "-100 100", "-0.5 5"])
@pytest.mark.parametrize("commands", [(3, 1), (-3, 1), (4, -2), (2, -2), (0, 0), (-3, -4)])
def test_everyone_agrees_with_mujoco_on_two_motors_of_one_joint(
    limits: str, commands: tuple[float, float]
) -> None:
    world = two_motors(limits)
    (robot,) = world.articulations.values()
    command(robot, commands)
    world.step()
    wanted = float(world.data.qfrc_actuator[0])
    found = everybody(world, robot)
    for name, values in found.items():
        assert values.sum() == pytest.approx(wanted, rel=1e-12, abs=1e-12), name
        assert values == pytest.approx(found["actuators"], rel=1e-12, abs=1e-12), name
    total = sum(commands)
    if total and wanted != total:  # each takes its share of the cut
        assert found["actuators"] == pytest.approx(np.array(commands) * wanted / total)


def test_an_actuator_that_no_law_drives_counts_in_the_sum_of_its_joint() -> None:
    world = two_motors("-2 2", MIXED)
    (robot,) = world.articulations.values()
    robot.set_targets({"a": 0.0, "b": 0.1}, feedforward={"a": 5.0})
    world.step()
    assert world.data.qfrc_actuator[0] == 2.0
    both = AppliedEffort(by_column(robot))(world.data)
    assert both.sum() == pytest.approx(2.0)
    bound = AppliedEffort(list(robot.bindings), robot.actuators)(world.data)
    assert bound.tolist() == [both[0]] != [2.0]


def test_a_sum_of_zero_outside_the_range_is_shared_evenly() -> None:
    world = two_motors("1 2")
    (robot,) = world.articulations.values()
    command(robot, (2, -2))
    world.step()
    assert world.data.qfrc_actuator[0] == 1.0
    applied = AppliedEffort(list(robot.bindings))(world.data)
    assert applied.tolist() == [2.5, -1.5]


@pytest.mark.parametrize("integrator", ["Euler", "RK4", "implicitfast"])
@pytest.mark.parametrize("limits", ["-1 1", "-9 9", "-0.2 5"])
@pytest.mark.parametrize("gravcomp", ["true", "false"])
def test_a_tendon_and_gravity_compensation_have_their_share_of_the_cut(
    limits: str, gravcomp: str, integrator: str
) -> None:
    xml = f'actuatorfrcrange="{limits}" actuatorgravcomp="{gravcomp}"'
    world = pulled(xml, integrator)
    robot, data = world["robot"], world.data
    robot.set_targets({"w": 0.1}, feedforward={"m": 0.8})
    world.step(3)
    total = 0.8 + 2 * 3 * 0.1 + (gravcomp == "true") * data.qfrc_gravcomp[0]
    assert data.qfrc_gravcomp[0] < -0.1
    share = robot.applied_effort[0] / 0.8
    assert share * total == pytest.approx(data.qfrc_actuator[0], rel=1e-12)
    assert (share == 1.0) == (data.qfrc_actuator[0] == pytest.approx(total, rel=1e-12))


def test_everyone_agrees_on_a_joint_that_others_act_on() -> None:
    world = pulled('actuatorfrcrange="-0.5 0.5" actuatorgravcomp="true"')
    robot = world["robot"]
    robot.set_targets({"w": 0.1}, feedforward={"m": 0.8})
    track = record(world, 3)
    assert track.effort["robot"][-1, 0] == robot.applied_effort[0] < 0.8
    batch = Batch(pulled('actuatorfrcrange="-0.5 0.5" actuatorgravcomp="true"'), 3)
    host = BatchHost(batch, "robot", np.full((3, 1, 2), [-np.inf, np.inf]))
    for k, drive in enumerate((0.2, 0.8, -0.8)):
        batch["robot"].setpoints[2, k, robot.actuator_names.index("m")] = drive
        batch["robot"].setpoints[0, k, robot.actuator_names.index("w")] = 0.1
    host.step(3)
    assert host.effort[1, 0] == robot.applied_effort[0]
    for k, found in enumerate(everybody(world, robot).values()):
        assert found[0] == robot.applied_effort[0], k
    assert host.at_limit[:, 0].tolist() == [False, True, True]


def test_one_motor_alone_has_the_bits_of_mujoco() -> None:
    world = make_world(hinge(joint='actuatorfrcrange="-0.3 0.7"'), [PDController(kp=0)])
    (robot,) = world.articulations.values()
    applied = AppliedEffort(list(robot.bindings), robot.actuators)
    for effort in np.random.default_rng(0).uniform(-2, 2, 50):
        command(robot, [effort])
        world.step()
        assert np.array_equal(applied(world.data), world.data.qfrc_actuator)


def test_histories_read_as_single_moments_do() -> None:
    world = two_motors("-2 2")
    (robot,) = world.articulations.values()
    command(robot, (3, 1))
    sampler, moments = Sampler(robot), []

    def note(step: int) -> None:
        moments.append((robot.position, robot.velocity))

    track = record(world, 5, before=note)
    whole = BindingReader(by_column(robot), robot.actuators)
    assert np.array_equal(whole.position(track.qpos[:-1]), [q for q, _ in moments])
    assert np.array_equal(whole.velocity(track.qvel[:-1]), [v for _, v in moments])
    assert np.array_equal(track.effort["robot"][-1], robot.applied_effort)
    row = np.empty((len(FIELDS), 2))
    sampler.read(row)
    now = [robot.setpoints.position, *(getattr(robot, name) for name in FIELDS[1:])]
    assert np.array_equal(row, now)


def test_a_tendon_is_read_from_its_actuator_and_is_nan_without() -> None:
    xml = """
    <mujoco><worldbody><body><joint name="j"/><geom size="0.1"/></body></worldbody>
    <tendon><fixed name="t"><joint joint="j" coef="2"/></fixed></tendon>
    <actuator><motor name="m" joint="j"/><motor name="w" tendon="t"/></actuator></mujoco>"""
    world = make_world(xml, [PDController(transmissions="all", kp=1)])
    (robot,) = world.articulations.values()
    world.data.qpos[0] = 0.25
    mujoco.mj_forward(world.model, world.data)
    sampler = Sampler(robot)
    out = np.empty(2)
    found = sampler.position(world.data.qpos, world.data.actuator_length, out=out)
    assert found is out
    assert found.tolist() == robot.position.tolist() == [0.25, 0.5]
    assert np.isnan(sampler.position(world.data.qpos)).tolist() == [False, True]
    read = reader(robot, 1, "position")
    assert read is not None and read() == 0.5
    assert reader(robot, 1, "temperature") is None
