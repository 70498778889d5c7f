"""Addresses, kinds and groups of actuators at their limits, read from models of MuJoCo alone."""

from typing import Any

import mujoco
import pytest

from mjrig.core.errors import BindingError
from mjrig.core.model.binding import StateIndex, describe_actuators, has_effect, locate, spans


def compiled(actuators: str, option: str = "") -> Any:
    """A model of one named and one unnamed hinge."""
    return mujoco.MjModel.from_xml_string(f"""
    <mujoco>{option}<worldbody>
      <body><joint name="a"/><geom size=".1"/>
        <body pos="0 0 .3"><joint/><geom size=".1"/></body></body>
      <body name="b"><freejoint/><geom size=".1"/></body>
    </worldbody><actuator>{actuators}</actuator></mujoco>""")


def test_ids_begin_at_zero_and_end_before_the_number_of_actuators() -> None:
    model = compiled('<motor joint="a"/><motor joint="a" name="second"/>')
    assert [b.actuator for b in describe_actuators(model, [1, 0])] == ["a", "second"]
    for wrong in (-1, 2):
        with pytest.raises(BindingError):
            describe_actuators(model, [wrong])


@pytest.mark.parametrize(
    ("element", "kind"),
    [
        ('<motor joint="a"/>', "motor"),
        ('<position joint="a" kp="3"/>', "position"),
        ('<position joint="a" kp="3" kv="1"/>', "position"),
        ('<velocity joint="a" kv="3"/>', "velocity"),
        ('<intvelocity joint="a" kp="3" actrange="-1 1"/>', "intvelocity"),
        ('<damper joint="a" kv="3" ctrlrange="0 1"/>', "damper"),
        ('<cylinder joint="a" timeconst="1" area="2" bias="0 -1 0"/>', "cylinder"),
        ('<muscle joint="a" lengthrange="0 1"/>', "muscle"),
        ('<adhesion body="b" gain="2" ctrlrange="0 1"/>', "adhesion"),
        ('<general joint="a" gaintype="fixed" biastype="none"/>', "motor"),
        ('<general joint="a" gaintype="fixed" biastype="affine" biasprm="1 0 0"/>', "general"),
        ('<general joint="a" gaintype="fixed" biastype="affine" biasprm="0 -2 0"/>', "position"),
        ('<general joint="a" gaintype="fixed" biastype="affine" biasprm="0 0 -2"/>', "velocity"),
        ('<general joint="a" dyntype="filter" dynprm="1"/>', "general"),
        ('<general joint="a" gaintype="affine" biastype="affine" biasprm="0 -2 0"/>', "general"),
    ],
)
def test_the_kind_is_that_of_the_element(element: str, kind: str) -> None:
    (binding,) = describe_actuators(compiled(element))
    assert binding.kind == kind


@pytest.mark.parametrize(
    ("group", "disabled", "is_disabled"),
    [(0, "0", True), (0, "1", False), (1, "0", False), (5, "1 5", True), (30, "30", True)],
)
def test_actuators_of_disabled_groups_are_not_replaced(
    group: int, disabled: str, is_disabled: bool
) -> None:
    option = f'<option actuatorgroupdisable="{disabled}"/>'
    model = compiled(f'<motor joint="a" group="{group}"/>', option)
    (binding,) = describe_actuators(model)
    assert ("disabled" in binding.native_obstacle) is is_disabled


@pytest.mark.parametrize("group", [-1, 31, 32])
def test_groups_beyond_those_that_can_be_disabled_are_active(group: int) -> None:
    model = compiled('<motor joint="a"/>')
    model.actuator_group[0], model.opt.disableactuator = group, -1
    (binding,) = describe_actuators(model)
    assert binding.native_obstacle == ""


@pytest.mark.parametrize("limited", [(True, False), (False, True), (False, False)])
def test_ranges_that_a_flag_switches_off_are_obstacles_of_their_actuator(
    limited: tuple[bool, bool],
) -> None:
    ranged = '<motor joint="a" ctrlrange="-1 1"/>'
    motors = "".join(ranged if has_range else '<motor joint="a"/>' for has_range in limited)
    for flag in ("enable", "disable"):
        option = f'<compiler autolimits="true"/><option><flag clampctrl="{flag}"/></option>'
        found = [b.native_obstacle for b in describe_actuators(compiled(motors, option))]
        expected = [flag == "disable" and has_range for has_range in limited]
        assert ["clampctrl" in text for text in found] == expected


def test_a_delayed_actuator_is_an_obstacle_only_with_samples() -> None:
    model = compiled('<motor joint="a"/><motor joint="a" nsample="3" interp="linear" delay=".01"/>')
    one, two = describe_actuators(model)
    assert one.native_obstacle == "" and two.native_obstacle != ""


def test_unnamed_targets_have_the_name_of_the_kind() -> None:
    model = compiled('<motor joint="a"/>')
    model.actuator_trnid[0, 0] = 1  # the joint without a name
    (binding,) = describe_actuators(model)
    assert binding.actuator == binding.target == "unnamed_motor"
    assert (binding.joint, binding.joint_id) == ("", 1)


@pytest.mark.parametrize(
    ("starts", "sizes", "addresses"),
    [([3, -1, 0], [2, 5, 1], [3, 4, 0]), ([], [], []), ([0, 2], [2, 0], [0, 1])],
)
def test_spans_are_all_addresses_of_blocks(
    starts: list[int], sizes: list[int], addresses: list[int]
) -> None:
    assert spans(starts, sizes).tolist() == addresses


@pytest.mark.parametrize(
    ("factor", "has"), [(0.9e-145, False), (-1.1e-145, True), (0.0, False), (1.0, True)]
)
def test_a_factor_whose_square_vanishes_has_no_effect(factor: float, has: bool) -> None:
    assert has_effect(factor) is has


def test_plain_motors_can_be_replaced_wherever_they_are_in_the_model() -> None:
    model = compiled('<motor joint="a"/><motor joint="a" gear="3" group="2"/>')
    assert [b.native_obstacle for b in describe_actuators(model)] == ["", ""]


def test_an_interpolation_without_samples_means_nothing() -> None:
    model = compiled('<motor joint="a"/>')
    for samples, is_obstacle in ((0, False), (1, True)):
        model.actuator_history[0] = (samples, 1)
        (binding,) = describe_actuators(model)
        assert bool(binding.native_obstacle) is is_obstacle


def test_an_actuator_without_a_known_target_is_named_by_its_kind() -> None:
    model = compiled('<motor joint="a"/><adhesion body="b" gain="2" ctrlrange="0 1"/>')
    _, adhesion = describe_actuators(model)
    assert (adhesion.joint_id, adhesion.qpos_address, adhesion.dof_address) == (-1, -1, -1)
    model.actuator_trntype[0] = int(mujoco.mjtTrn.mjTRN_UNDEFINED)
    unknown, _ = describe_actuators(model)
    assert (unknown.target, unknown.transmission) == ("unnamed_motor", "unknown")


def test_a_lowered_actuator_has_one_input_and_no_memory() -> None:
    model = compiled(
        '<motor joint="a"/><intvelocity joint="a" kp="3" actrange="-1 1" name="memory"/>'
    )
    where = locate(model, "robot", "")
    index = StateIndex(model, where)
    assert list(index.ctrl.values()) == [slice(0, 1), slice(1, 2)]
    assert index.act["memory"] == slice(0, 1)
    lowered = StateIndex(model, where, {1})
    assert list(lowered.ctrl.values()) == [slice(0, 1), slice(1, 2)]
    assert lowered.act["memory"] == slice(0, 0)
    assert (len(index.free), len(index.single)) == (1, 2)
