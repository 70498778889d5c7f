"""What a running world says of its plant, and what two plants say differently."""

import numpy as np
import pytest

from mjrig.components import PDController
from mjrig.core.control.plant import Plant
from mjrig.core.sim.plant_parameters import disable_flags, model_hash, plant_of
from mjrig.lab.replay.diagnosis.plant_hypotheses import differences
from mjrig.lab.replay.plant_edit import CannotEdit, PlantEdit
from tests.plugin.lab.replay.recorded import BIPED, biped
from tests.worlds import hinge, make_robot, make_world, refused


def test_gains_limits_and_joints_are_in_it() -> None:
    world = biped(kp={"left_.*": 50.0, "default": 80.0})
    plant = plant_of(world, world["robot"])
    assert plant.joints["kp"] == {
        "left_hip": 50.0, "left_knee": 50.0, "right_hip": 80.0, "right_knee": 80.0,
    }  # fmt: skip
    assert plant.joints["armature"]["left_hip"] == 0.02
    assert plant.joints["torque_limit"]["left_hip"] == 40.0
    assert plant.enforced["left_hip"] == "ctrlrange"
    assert plant.overall["timestep"] == 0.002
    assert plant.overall["integrator"] == "Euler"


def test_it_is_the_same_in_every_execution() -> None:
    plants = []
    for execution in ("python", "native"):
        world = biped(execution=execution)
        plants.append(plant_of(world, world["robot"]))
    assert plants[0].joints == plants[1].joints


def test_a_servo_of_the_model_has_its_gains_at_the_joint() -> None:
    xml = hinge('<position name="drive" joint="swing" kp="30" kv="2" gear="2" forcerange="-5 5"/>')
    plant = plant_of(*make_robot(xml))
    assert plant.joints["kp"]["swing"] == 120.0
    assert plant.joints["kv"]["swing"] == 8.0
    assert plant.joints["torque_limit"]["swing"] == 10.0
    assert plant.enforced["swing"] == "forcerange"


def test_a_delay_is_in_seconds() -> None:
    world, robot = make_robot(hinge(), PDController(delay={"steps": 3}))
    assert plant_of(world, robot).joints["delay"]["swing"] == pytest.approx(0.003)


def test_the_hash_is_of_what_moves_and_not_of_names_or_looks() -> None:
    same = BIPED.replace("right_shin", "shank").replace(
        'size="5 5 0.1"', 'size="5 5 0.1" rgba="1 0 0 1"'
    )
    heavy = BIPED.replace('mass="4"', 'mass="4.001"')
    solver = BIPED.replace("<option ", '<option iterations="7" ')
    found = [model_hash(biped(xml=x).model) for x in (BIPED, same, heavy, solver)]
    assert found[0] == found[1]
    assert len(set(found)) == 3


def test_disabled_flags_have_names() -> None:
    flagged = '<option timestep="0.002"><flag eulerdamp="disable"/></option>'
    xml = BIPED.replace('<option timestep="0.002"/>', flagged)
    assert disable_flags(biped(xml=xml).model) == ["eulerdamp"]


def test_only_what_both_know_is_compared() -> None:
    recorded = Plant({"timestep": 0.002, "solver": "CG"}, {"kp": {"a": 1.0, "b": 2.0}})
    here = Plant({"timestep": 0.001}, {"kp": {"x": 1.0, "b": 2.0 + 1e-9}, "kv": {"x": 3.0}})
    found = differences(recorded, here, {"a": "x", "b": "b"})
    assert [(d.what, d.where) for d in found] == [("timestep", "")]


def test_what_only_policies_depend_on_is_left_out_of_recordings() -> None:
    a, b = Plant({"decimation": 4}, {}), Plant({"decimation": 5}, {})
    assert differences(a, b, {}) == []
    assert [d.what for d in differences(a, b, {}, policy=True)] == ["decimation"]


def test_an_edit_is_taken_back() -> None:
    world = biped(execution="native")
    robot = world["robot"]
    before = plant_of(world, robot)
    with PlantEdit(world, robot) as edit:
        for what, value in (("kp", 7.0), ("torque_limit", 9.0), ("armature", 1.0)):
            edit.set_joints(what, {"left_hip": value})
        edit.set_option("iterations", 3)
        edit.scale_friction(0.5)
        edit.add_mass(2.0)
        after = plant_of(world, robot)
        assert after.joints["kp"]["left_hip"] == 7.0
        assert after.joints["armature"]["left_hip"] == 1.0
        assert world.model.opt.iterations == 3
    now = plant_of(world, robot)
    assert now.joints == before.joints
    assert now.overall == before.overall


def test_a_limit_holds_in_every_execution() -> None:
    for execution in ("python", "native"):
        world = biped(execution=execution)
        with PlantEdit(world, world["robot"]) as edit:
            edit.set_joints("torque_limit", {"left_hip": 0.5})
            world["robot"].set_targets({"left_hip": 1.0})
            world.step()
            assert world["robot"].applied_effort[0] == pytest.approx(0.5)
        world.step()
        assert np.abs(world["robot"].applied_effort[0]) > 1.0


def test_what_cannot_be_edited_says_so() -> None:
    world = make_world(hinge())
    with PlantEdit(world, world["robot"]) as edit:
        with refused(CannotEdit, "no controller has a … 'swing'"):
            edit.set_joints("kp", {"swing": 1.0})
        with refused(CannotEdit, "timestep is fixed once …"):
            edit.set_option("timestep", 0.1)
        with refused(CannotEdit, "RK4 is planned for when …"):
            edit.set_option("integrator", "RK4")
