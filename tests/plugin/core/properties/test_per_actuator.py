"""Per-actuator properties: authored compactly, read as dense arrays."""

import math
import re
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mjrig.components import PDController
from mjrig.core.errors import PropertyError
from mjrig.core.names import literal
from mjrig.core.patterns import Slots
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.per_actuator import Origin, PatternMap, PerActuator, origins, patch
from tests.wording import matches

FIXED = settings(derandomize=True, deadline=None)  # the same cases every time

NAMES = ("FL_hip", "FL_knee", "FR_hip", "FR_knee")
DOG = Slots([(name, f"{name}_joint") for name in NAMES], "dog")

LEG = """
<mujoco>
  <worldbody>
    <body>
      <joint name="hip"/> <geom size=".1" mass="1"/>
      <body pos="0 0 1">
        <joint name="knee"/> <geom size=".1" mass="1"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="hip_motor" joint="hip"/>
    <motor name="knee_motor" joint="knee"/>
  </actuator>
</mujoco>
"""

non_negative = st.floats(0.0, allow_infinity=False) | st.integers(0, 2**53)
gains = (
    non_negative
    | st.lists(non_negative, min_size=4, max_size=4)
    | st.dictionaries(st.sampled_from([*NAMES, "default"]), non_negative)
    | st.fixed_dictionaries({"F._hip": non_negative, "FL_knee": non_negative})
)


def controller(**values: object) -> PDController:
    """A controller that knows the dog's actuators but has no model."""
    pd = PDController(**values)
    pd.spread_over(DOG)
    return pd


def bound(**values: object) -> PDController:
    """A controller bound to a leg of two motors."""
    model = mujoco.MjModel.from_xml_string(LEG)
    pd = PDController(**values)
    pd.bind(model, mujoco.MjData(model), range(model.nactuator))
    return pd


def refused(obj: HasProperties, change: Callable[[], object]) -> PropertyError:
    """The error of a change that must leave the object as it was."""
    before = dict(vars(obj))
    with pytest.raises(PropertyError) as caught:
        change()
    assert vars(obj) == before
    return caught.value


# What is accepted -------------------------------------------------------------------------------


def test_nothing_authored_falls_back_to_the_default_property() -> None:
    pd = controller()
    assert pd.kp.tolist() == [100.0] * 4
    assert pd.kv.tolist() == [5.0] * 4
    assert pd.torque_limit.tolist() == [200.0] * 4


def test_a_scalar_is_for_all() -> None:
    assert controller(kp=40).kp.tolist() == [40.0] * 4


def test_a_list_is_in_binding_order() -> None:
    assert controller(kp=[1, 2, 3, 4]).kp.tolist() == [1.0, 2.0, 3.0, 4.0]


def test_a_mapping_is_matched_by_actuator_or_joint() -> None:
    pd = controller(kp={"FL_hip": 1, "FR_knee_joint": 2})
    assert pd.kp.tolist() == [1.0, 100.0, 100.0, 2.0]


def test_a_pattern_matches_in_full() -> None:
    assert controller(kp={".*_hip": 1}).kp.tolist() == [1.0, 100.0, 1.0, 100.0]


def test_the_default_key_is_for_the_rest() -> None:
    assert controller(kp={".*_hip": 1, "default": 2}).kp.tolist() == [1.0, 2.0, 1.0, 2.0]


def test_an_empty_mapping_names_nothing() -> None:
    assert controller(kp={}).kp.tolist() == [100.0] * 4


def test_nothing_returns_to_the_fallback() -> None:
    pd = controller(kp=40)
    pd.kp = None
    assert pd.kp.tolist() == [100.0] * 4


@pytest.mark.parametrize(
    "values", [(1, 2, 3, 4), np.array([1, 2, 3, 4]), np.array([1.0, 2.0, 3.0, 4.0])]
)
def test_a_tuple_or_array_is_a_list(values: Any) -> None:
    pd = controller(kp=values)
    assert pd.kp.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert pd.authored("kp") == [1, 2, 3, 4]


def test_an_array_without_a_dimension_is_a_scalar() -> None:
    assert controller(kp=np.array(3.0)).authored("kp") == 3.0


def test_text_numbers_are_numbers() -> None:
    assert controller(kp="1e-3").kp.tolist() == [0.001] * 4
    assert controller(kp=["1e-3", 1, 2, 3]).kp[0] == 0.001
    assert controller(kp={"FL_hip": "1e-3"}).kp[0] == 0.001


def test_without_a_fallback_property_a_constant_is_used() -> None:
    class Spring(HasProperties):
        stiffness = PerActuator(constant=7.0)

    spring = Spring(stiffness={"FL_hip": 1})
    spring.spread_over(DOG)
    assert spring.stiffness.tolist() == [1.0, 7.0, 7.0, 7.0]


def test_a_limit_may_be_infinite_and_a_gain_may_not() -> None:
    pd = controller(torque_limit=math.inf)
    assert pd.torque_limit.tolist() == [math.inf] * 4
    error = refused(pd, lambda: setattr(pd, "kp", math.inf))
    assert str(error) == "PDController.kp: must be finite, got inf"


# What is kept -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "written",
    [40, 40.0, [1, 2.5, 3, 4], {".*_hip": 60, "default": 40.5}, {"FL_hip": 1}, {}, None],
)
def test_what_was_written_is_kept(written: Any) -> None:
    pd = controller(kp=written)
    assert pd.authored("kp") == written
    assert repr(pd.authored("kp")) == repr(written)
    assert PDController.from_data(pd.to_data()).authored("kp") == written


def test_the_callers_list_is_copied() -> None:
    values = [1.0, 2.0, 3.0, 4.0]
    pd = controller(kp=values)
    values[0] = 9.0
    assert pd.authored("kp") == [1.0, 2.0, 3.0, 4.0]


def test_the_callers_mapping_is_copied() -> None:
    values = {"FL_hip": 1.0}
    pd = controller(kp=values)
    values["FL_hip"] = 9.0
    assert pd.authored("kp") == {"FL_hip": 1.0}


def test_the_callers_array_is_copied() -> None:
    values = np.array([1.0, 2.0, 3.0, 4.0])
    pd = controller(kp=values)
    values[0] = 9.0
    assert pd.kp[0] == 1.0
    assert pd.authored("kp") == [1.0, 2.0, 3.0, 4.0]


def test_what_authored_returns_is_a_copy() -> None:
    pd = controller(kp={"FL_hip": 1})
    written: Any = pd.authored("kp")
    written["FL_hip"] = 9
    assert pd.authored("kp") == {"FL_hip": 1}


def test_the_authored_form_counts_even_where_the_array_is_the_same() -> None:
    pd = controller(kp=40)
    before = pd.to_data()
    pd.kp = {".*": 40}
    assert pd.kp.tolist() == [40.0] * 4
    assert pd.to_data() != before


def test_what_is_written_is_modified_bound_or_not() -> None:
    assert PDController(kp=40).is_modified("kp")
    assert controller(kp=40).is_modified("kp")
    assert not controller().is_modified("kp")
    assert not controller(kp=None).is_modified("kp")


# The resolved array -----------------------------------------------------------------------------


def test_the_array_cannot_be_written() -> None:
    pd = controller(kp=40)
    with pytest.raises(ValueError, match="read-only"):
        pd.kp[0] = 1.0


@pytest.mark.parametrize("change", [{"kp": 50}, {"default_kp": 50}, {"kp": {"FL_hip": 1}}])
def test_the_array_is_swapped_never_written(change: dict[str, object]) -> None:
    pd = controller()
    before = pd.kp
    pd.assign(change)
    assert pd.kp is not before
    assert before.tolist() == [100.0] * 4


def test_a_default_reaches_what_is_not_explicit() -> None:
    pd = controller(kp={"FL_hip": 1})
    pd.default_kp = 7
    assert pd.kp.tolist() == [1.0, 7.0, 7.0, 7.0]


@pytest.mark.parametrize("explicit", [40, [1, 2, 3, 4], {"FL_hip": 1, "default": 2}])
def test_a_default_changes_nothing_that_is_explicit(explicit: object) -> None:
    pd = controller(kp=explicit)
    before = pd.kp.tolist()
    pd.default_kp = 7
    assert pd.kp.tolist() == before


def test_a_default_reaches_its_own_property_alone() -> None:
    pd = controller()
    kv = pd.kv
    pd.default_kp = 7
    assert pd.kv is kv


def test_a_change_of_the_default_is_reported_once() -> None:
    pd = controller()
    seen: list[tuple[tuple[str, ...], list[float]]] = []
    pd.watch(lambda _, names: seen.append((names, pd.kp.tolist())))
    pd.default_kp = 7
    assert seen == [(("default_kp",), [7.0] * 4)]


def test_unset_returns_to_the_fallback() -> None:
    pd = controller(kp=40)
    pd.unset("kp")
    assert pd.kp.tolist() == [100.0] * 4
    assert pd.to_data() == {"type": "PDController"}


# What is refused --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (-1, "must be >= 0 N·m/rad, got -1"),
        (math.nan, "must be a number, … nan"),
        (-math.inf, "must be >= 0 N·m/rad, got -inf"),
        (".nan", "must be a number, … nan"),
        (True, "must be a number, got True"),
        ("stiff", "must be a number, got 'stiff'"),
        ([1, -2, 3, 4], "must be >= 0 N·m/rad, got -2 for 'FL_knee'"),
        ([1, 2, math.nan, 4], "must be a number, … nan … 'FR_hip'"),
        ([1, 2, 3, math.inf], "must be finite, got inf … 'FR_knee'"),
        ([1, 2, 3, None], "must be a number, … None … 'FR_knee'"),
        (np.array([1.0, -2.0, 3.0, 4.0]), "must be >= 0 N·m/rad, got -2 for 'FL_knee'"),
        (np.array([1.0, math.nan, 3.0, 4.0]), "must be a number, … nan … 'FL_knee'"),
        (np.array([1.0, 2.0, 3.0, math.inf]), "must be finite, got inf … 'FR_knee'"),
        ({"FL_hip": -1}, "must be >= 0 N·m/rad, got -1 for 'FL_hip'"),
        ({"default": math.nan}, "must be a number, … nan … 'default'"),
        ({"FL_.*": math.inf}, "must be finite, got inf … 'FL_.*'"),
        ({3: 1}, "3 is not a name …"),
        (
            [1, 2],
            "must have 4 values, one … 2; … FL_hip, FL_knee, FR_hip, FR_knee",
        ),
        (
            [],
            "must have 4 values, one … 0; … FL_hip, FL_knee, FR_hip, FR_knee",
        ),
        (
            {".*_hpi": 1},
            "'.*_hpi' matches no actuator or … 'dog'; … '.*_hip'?",
        ),
        (
            {"FL_hip": 1, "FL_.*": 2},
            "'FL_hip' is matched by 'FL_hip' (1) and 'FL_.*' (2)",
        ),
        (
            {"FL_(": 1},
            "'FL_(' is not a valid … ), … 3",
        ),
    ],
)
def test_a_bad_value_is_refused_with_its_reason(value: Any, problem: str) -> None:
    pd = controller(kp=40)
    error = refused(pd, lambda: setattr(pd, "kp", value))
    assert matches(str(error), f"PDController.kp: {problem}")


def test_a_finite_property_refuses_an_array_with_minus_infinity() -> None:
    class Bias(HasProperties):
        offset = PerActuator(finite=True)

    bias = Bias()
    bias.spread_over(DOG)
    error = refused(bias, lambda: setattr(bias, "offset", np.array([-math.inf, 0.0, 0.0, 0.0])))
    assert str(error) == "Bias.offset: must be finite, got -inf for 'FL_hip'"


def test_a_table_of_numbers_is_refused() -> None:
    pd = controller()
    error = refused(pd, lambda: setattr(pd, "kp", np.ones((4, 1))))
    assert matches(str(error), "PDController.kp: must be a number, … array([1.]) … 'FL_hip'")


def test_an_open_lower_bound_is_refused_in_arrays_too() -> None:
    class Wheel(HasProperties):
        radius = PerActuator(constant=1.0, min=0.0, above=True, unit="m")

    wheel = Wheel()
    error = refused(wheel, lambda: setattr(wheel, "radius", np.array([1.0, 0.0])))
    assert matches(str(error), "Wheel.radius: must be > 0 m, got 0 … 1")


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (0.5, "must be a whole … 0.5"),
        (math.inf, "must be a whole … inf"),
        ([1, 2.5], "must be a whole … 2.5 … 1"),
        (np.array([1.0, 2.5]), "must be a whole … 2.5 … 1"),
        (np.array([1.0, math.inf]), "must be a whole … inf … 1"),
    ],
)
def test_a_whole_property_refuses_fractions(value: Any, problem: str) -> None:
    class Delay(HasProperties):
        steps = PerActuator(min=0.0, whole=True)

    delay = Delay(steps=[1, 2.0])
    assert matches(
        str(refused(delay, lambda: setattr(delay, "steps", value))), f"Delay.steps: {problem}"
    )


@pytest.mark.parametrize(
    ("value", "at", "about_key"),
    [
        (-1, (), False),
        ([1, 2, -3, 4], (2,), False),
        ({"FL_hip": 1, "FR_hip": -1}, ("FR_hip",), False),
        ({"FL_hip": 1, "nobody": 1}, ("nobody",), True),
        ({"FL_hip": 1, "FL_.*": 2}, ("FL_.*",), True),
        ({3: 1}, (3,), True),
    ],
)
def test_an_error_points_into_the_value(
    value: Any, at: tuple[object, ...], about_key: bool
) -> None:
    pd = controller()
    error = refused(pd, lambda: setattr(pd, "kp", value))
    assert (error.keys, error.at, error.about_key) == (("kp",), at, about_key)


def test_a_bad_default_leaves_the_arrays() -> None:
    pd = controller()
    error = refused(pd, lambda: setattr(pd, "default_kp", -1))
    assert str(error) == "PDController.default_kp: must be >= 0 N·m/rad, got -1"


# Unbound ----------------------------------------------------------------------------------------


def test_unbound_the_array_is_empty() -> None:
    assert PDController(kp=40).kp.tolist() == []


def test_unbound_the_range_is_checked_at_once() -> None:
    pd = PDController()
    error = refused(pd, lambda: setattr(pd, "kp", [1, -2]))
    assert matches(str(error), "PDController.kp: must be >= 0 N·m/rad, got -2 at … 1")


@pytest.mark.parametrize("value", [[1, 2, 3], {"nobody": 1}])
def test_unbound_names_and_lengths_wait(value: Any) -> None:
    pd = PDController(kp=value)
    assert pd.authored("kp") == value
    refused(pd, lambda: pd.spread_over(DOG))


def test_binding_resolves() -> None:
    pd = bound(kp={"hip": 1, "knee_motor": 2})
    assert pd.kp.tolist() == [1.0, 2.0]


def test_binding_is_all_or_nothing() -> None:
    model = mujoco.MjModel.from_xml_string(LEG)
    pd = PDController(kp=40, kv={"kne": 1})
    error = refused(pd, lambda: pd.bind(model, mujoco.MjData(model), range(model.nactuator)))
    assert matches(str(error), "PDController.kv: 'kne' matches no actuator or … 'model'; … 'knee'?")
    assert not pd.is_bound


def test_unbinding_empties_the_array_and_keeps_what_was_written() -> None:
    pd = bound(kp={"hip": 1})
    pd.unbind()
    assert (pd.kp.tolist(), pd.authored("kp")) == ([], {"hip": 1})


# Origins ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (None, ["default"] * 4),
        (40, ["explicit"] * 4),
        ([1, 2, 3, 4], ["explicit"] * 4),
        ({".*_hip": 1, "FL_knee": 2}, ["pattern", "explicit", "pattern", "default"]),
        ({"FL_hip": 1, "default": 2}, ["explicit", "default", "default", "default"]),
    ],
)
def test_origins_say_where_each_value_comes_from(written: object, expected: list[str]) -> None:
    assert origins(controller(kp=written), "kp") == tuple(map(Origin, expected))


def test_origins_are_unknown_while_unbound() -> None:
    assert origins(PDController(kp=40), "kp") == ()


def test_origins_are_for_per_actuator_properties() -> None:
    assert origins(controller(), "default_kp") == ()


# Patch ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (None, {"FL_hip": 80}),
        (40, {"default": 40, "FL_hip": 80}),
        ({"FR_hip": 1, "default": 2}, {"FR_hip": 1, "default": 2, "FL_hip": 80}),
        ({"FL_hip": 1}, {"FL_hip": 80}),
        ([1, 2, 3, 4], {"FL_knee": 2, "FR_hip": 3, "FR_knee": 4, "FL_hip": 80}),
        ({".*_hip": 1, "default": 2}, {"FR_hip": 1, "default": 2, "FL_hip": 80}),
        ({"FL_hip_joint": 1}, {"FL_hip": 80}),
    ],
)
def test_a_patch_merges_into_what_was_written(written: object, expected: object) -> None:
    pd = controller(kp=written)
    rest = pd.kp.tolist()[1:]
    pd.patch(kp={"FL_hip": 80})
    assert pd.authored("kp") == expected
    assert pd.kp.tolist() == [80.0, *rest]


def test_a_patch_by_pattern_replaces_the_patterns_it_overlaps() -> None:
    pd = controller(kp={"FL_.*": 1, "FR_.*": 2})
    pd.patch(kp={".*_hip": 3})
    assert pd.authored("kp") == {"FL_knee": 1, "FR_knee": 2, ".*_hip": 3}
    assert pd.kp.tolist() == [3.0, 1.0, 3.0, 2.0]


def test_a_patch_of_the_default_key_is_for_the_rest() -> None:
    pd = controller(kp={"FL_hip": 1, "default": 2})
    pd.patch(kp={"default": 3})
    assert pd.authored("kp") == {"FL_hip": 1, "default": 3}


def test_a_patch_with_a_scalar_or_list_replaces() -> None:
    pd = controller(kp={"FL_hip": 1}, kv=2)
    pd.patch(kp=40, kv=[1, 2, 3, 4])
    assert (pd.authored("kp"), pd.authored("kv")) == (40, [1, 2, 3, 4])


def test_a_patch_is_reported_once() -> None:
    pd = controller()
    seen: list[tuple[str, ...]] = []
    pd.watch(lambda _, names: seen.append(names))
    pd.patch(kp={"FL_hip": 80}, kv={"FL_hip": 2})
    assert seen == [("kp", "kv")]


def test_a_patch_names_slots_whose_names_look_like_patterns() -> None:
    pd = PDController(kp=[1, 2, 3])
    pd.spread_over(Slots([("a.1",), ("ax1",), ("b",)], "dog"))
    pd.patch(kp={"b": 9})
    assert pd.kp.tolist() == [1.0, 2.0, 9.0]


def test_a_patch_by_name_of_an_unbound_list_is_refused() -> None:
    pd = PDController(kp=[1, 2])
    error = refused(pd, lambda: pd.patch(kp={"FL_hip": 80}))
    assert matches(str(error), "PDController.kp: is a list; a …")


def test_a_patch_of_an_unbound_component_waits_for_names() -> None:
    pd = PDController(kp=40)
    pd.patch(kp={"FL_hip": 80})
    pd.spread_over(DOG)
    assert pd.kp.tolist() == [80.0, 40.0, 40.0, 40.0]


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"kv": {"FL_hip": -1}}, "PDController.kv: must be >= 0 N·m·s/rad, got -1 for 'FL_hip'"),
        (
            {"kv": {"FL_hpi": 1}},
            "PDController.kv: 'FL_hpi' matches no actuator or … 'dog'; … 'FL_hip'?",
        ),
        (
            {"kv": {"FL_hip": 1, "FL_.*": 2}},
            "PDController.kv: 'FL_hip' is matched by 'FL_hip' (1) and 'FL_.*' (2)",
        ),
        ({"kvv": {"FL_hip": 1}}, "PDController has no property 'kvv'; did … 'kv'?"),
    ],
)
def test_a_patch_is_all_or_nothing(values: dict[str, object], problem: str) -> None:
    pd = controller(kp=40, kv=2)
    error = refused(pd, lambda: pd.patch(kp={"FL_hip": 80}, **values))
    assert matches(str(error), problem)


def test_a_patch_in_a_group_with_a_list_of_another_length_is_refused() -> None:
    pd = controller()

    def change() -> None:
        with pd.changes():
            pd.kp = [1, 2]
            pd.patch(kp={"FL_hip": 80})

    assert matches(
        str(refused(pd, change)),
        "PDController.kp: must have 4 values, one … 2; … FL_hip, FL_knee, FR_hip, FR_knee",
    )


@pytest.mark.parametrize("enabled", [True, False])
def test_a_patch_of_gains_leaves_enabled_alone(enabled: bool) -> None:
    pd = controller(enabled=enabled)
    pd.patch(kp={"FL_hip": 80}, kv=1, torque_limit=20)
    assert pd.enabled is enabled


def test_patch_works_for_any_component() -> None:
    class Spring(HasProperties):
        stiffness = PerActuator(constant=7.0)

    spring = Spring(stiffness=3)
    patch(spring, {"stiffness": {"FL_hip": 1}})
    assert spring.authored("stiffness") == {"default": 3, "FL_hip": 1}


# set_gains --------------------------------------------------------------------------------------


def test_set_gains_makes_all_three_explicit() -> None:
    pd = bound()
    pd.set_gains([1, 2], [3, 4], np.array([5.0, math.inf]))
    assert (pd.kp.tolist(), pd.kv.tolist()) == ([1.0, 2.0], [3.0, 4.0])
    assert pd.torque_limit.tolist() == [5.0, math.inf]
    assert {o for n in ("kp", "kv", "torque_limit") for o in origins(pd, n)} == {Origin.EXPLICIT}


def test_set_gains_takes_scalars_for_all() -> None:
    pd = bound()
    pd.set_gains(1, 2, 3)
    assert (pd.kp.tolist(), pd.kv.tolist()) == ([1.0, 1.0], [2.0, 2.0])


def test_set_gains_keeps_scalars_while_unbound() -> None:
    pd = PDController()
    pd.set_gains(1, 2, 3)
    assert (pd.authored("kp"), pd.authored("kv"), pd.authored("torque_limit")) == (1, 2, 3)


@pytest.mark.parametrize(
    ("kp", "problem"),
    [
        ([1, 2, 3], "must have 2 values, one … 3"),
        ([1, -1], "must be >= 0 N·m/rad, got -1 for 'knee_motor'"),
        ([1, math.nan], "must be a number, … nan … 'knee_motor'"),
        ({"hip": 1}, "must be a number … {'hip': 1}"),
    ],
)
def test_set_gains_refuses_all_or_nothing(kp: Any, problem: str) -> None:
    pd = bound()
    pd.set_gains([1, 2], [3, 4], [5, 6])
    error = refused(pd, lambda: pd.set_gains(kp, 1, 1))
    assert matches(str(error), f"PDController.kp: {problem}")


# Pattern maps -----------------------------------------------------------------------------------


class Pose(HasProperties):
    joints = PatternMap()


def test_a_pattern_map_is_kept_as_written() -> None:
    pose = Pose(joints={"FL_.*": 1, "FR_hip": "1e-3"})
    assert pose.joints == {"FL_.*": 1.0, "FR_hip": 0.001}
    assert repr(pose.authored("joints")) == "{'FL_.*': 1, 'FR_hip': 0.001}"


@pytest.mark.parametrize("pose", [Pose(), Pose(joints={"FL_hip": 1})])
def test_a_pattern_map_cannot_be_written_in_place(pose: Pose) -> None:
    joints: Any = pose.joints
    with pytest.raises(TypeError):
        joints["FR_hip"] = 2.0


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (3, "must be a mapping … 3"),
        ({"FL_hip": "up"}, "must be a finite … 'up' … 'FL_hip'"),
        ({"FL_hip": math.inf}, "must be a finite … inf … 'FL_hip'"),
        ({"FL_hip": True}, "must be a finite … True … 'FL_hip'"),
        ({1: 1}, "1 is not a name …"),
    ],
)
def test_a_pattern_map_says_what_is_wrong(value: Any, problem: str) -> None:
    pose = Pose()
    assert matches(
        str(refused(pose, lambda: setattr(pose, "joints", value))), f"Pose.joints: {problem}"
    )


# Any --------------------------------------------------------------------------------------------


@FIXED
@given(st.lists(non_negative))
def test_any_finite_non_negative_list_reads_back(values: list[float]) -> None:
    pd = PDController(kp=values)
    assert pd.authored("kp") == values
    assert list(map(type, values)) == [type(v) for v in pd.to_data()["kp"]]  # type: ignore[attr-defined]


@FIXED
@given(st.lists(non_negative, min_size=4, max_size=4))
def test_any_list_resolves_to_itself(values: list[float]) -> None:
    assert controller(kp=values).kp.tolist() == values
    assert controller(kp=np.array(values, dtype=np.float64)).kp.tolist() == values


@FIXED
@given(
    st.sampled_from([".*", "FL_.*", ".*_hip", "F[LR]_knee", "FL_hip|FR_knee", "FR_hip_joint"]),
    non_negative,
    non_negative,
)
def test_any_pattern_equals_its_expansion(pattern: str, value: float, rest: float) -> None:
    matched = [n for n in NAMES if any(re.fullmatch(pattern, a) for a in (n, f"{n}_joint"))]
    compact = controller(kp={pattern: value, "default": rest})
    expanded = controller(kp={**dict.fromkeys(map(literal, matched), value), "default": rest})
    assert compact.kp.tolist() == expanded.kp.tolist()


@FIXED
@given(gains, st.sampled_from([-1, math.nan, "x", [1], [0, 0, 0, -1], {"nobody": 1}, True]))
def test_any_bad_value_changes_nothing(good: object, bad: Any) -> None:
    pd = controller(kp=good)
    refused(pd, lambda: pd.assign({"kv": 3, "kp": bad}))


@FIXED
@given(gains, gains, gains)
def test_any_authored_gains_survive_the_file(kp: object, kv: object, limit: object) -> None:
    pd = PDController(kp=kp, kv=kv, torque_limit=limit)
    again = PDController.from_data(pd.to_data())
    assert repr(again.to_data()) == repr(pd.to_data())
    pd.spread_over(DOG)
    again.spread_over(DOG)
    assert again.kp.tolist() == pd.kp.tolist()


@FIXED
@given(gains, st.dictionaries(st.sampled_from(NAMES), non_negative, min_size=1))
def test_any_patch_changes_what_it_names_and_nothing_else(
    written: object, values: dict[str, float]
) -> None:
    pd = controller(kp=written)
    before = dict(zip(NAMES, pd.kp.tolist(), strict=True))
    pd.patch(kp=values)
    assert dict(zip(NAMES, pd.kp.tolist(), strict=True)) == before | values


@FIXED
@given(gains, non_negative)
def test_any_default_reaches_exactly_what_is_not_explicit(written: object, default: float) -> None:
    pd = controller(kp=written)
    before = pd.kp.tolist()
    has_rest = isinstance(written, dict) and "default" in written
    falls_back = [o is Origin.DEFAULT and not has_rest for o in origins(pd, "kp")]
    pd.default_kp = default
    expected = [default if f else b for f, b in zip(falls_back, before, strict=True)]
    assert pd.kp.tolist() == expected
