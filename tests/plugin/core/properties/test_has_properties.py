"""Assignment, groups of changes, notification and rollback."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mjrig.core.errors import LocatedError, MjrigError, PropertyError
from mjrig.core.properties.has_properties import HasProperties
from tests.plugin.core.properties.declared_classes import FIXED, Lag, Motor, Owner, refused, reports
from tests.wording import matches


def test_an_assignment_is_authored() -> None:
    motor = Motor()
    motor.speed = 3
    assert (motor.speed, motor.authored("speed"), motor.is_authored("speed")) == (3.0, 3, True)


def test_a_read_only_property_refuses() -> None:
    motor = Motor()
    error = refused(motor, lambda: setattr(motor, "heat", 30.0))
    assert str(error) == "Motor.heat: is read-only"


def test_an_error_carries_the_path_to_the_property() -> None:
    motor = Motor()
    assert refused(motor, lambda: motor.assign({"axis": [0, "up", 1]})).keys == ("axis",)
    assert refused(motor, lambda: motor.assign({"axis": [0, "up", 1]})).at == (1,)


def test_a_property_error_is_a_value_error_and_ours() -> None:
    assert issubclass(PropertyError, ValueError)
    assert issubclass(PropertyError, MjrigError)
    assert issubclass(PropertyError, LocatedError)


def test_an_error_seen_from_above_has_a_longer_path() -> None:
    error = PropertyError("wrong", ("kp",), at=(0,), about_key=True).below("components", 1)
    assert (str(error), error.keys, error.at, error.about_key) == (
        "wrong",
        ("components", 1, "kp"),
        (0,),
        True,
    )


def test_is_modified_compares_with_the_default() -> None:
    motor = Motor(speed=1.0, window=2.0)
    names = ("speed", "window", "axis")
    assert [motor.is_modified(n) for n in names] == [False, True, False]


def test_is_modified_looks_at_nested_components() -> None:
    owner = Owner(lag={}, clamps=[])
    assert [owner.is_modified(n) for n in ("lag", "spare", "clamps")] == [True, False, False]


def test_unset_returns_to_the_default() -> None:
    motor = Motor(speed=3.0, gear=2)
    seen = reports(motor)
    motor.unset("speed")
    assert (motor.speed, motor.to_data(), seen) == (1.0, {"gear": 2}, [("speed",)])


def test_unset_of_what_was_never_set_reports_nothing() -> None:
    motor = Motor()
    seen = reports(motor)
    motor.unset("speed")
    assert seen == []


def test_unset_frees_a_nested_component() -> None:
    lag = Lag()
    owner = Owner(lag=lag)
    owner.unset("lag")
    assert (owner.lag, lag.label) == (None, "Lag")


def test_an_assignment_notifies_once() -> None:
    motor = Motor()
    seen = reports(motor)
    motor.speed = 2.0
    assert seen == [("speed",)]


def test_a_watcher_gets_the_object() -> None:
    motor = Motor()
    seen: list[HasProperties] = []
    motor.watch(lambda obj, _: seen.append(obj))
    motor.speed = 2.0
    assert seen == [motor]


def test_assign_notifies_once_for_several() -> None:
    motor = Motor()
    seen = reports(motor)
    motor.assign({"speed": 2.0, "gear": 3})
    assert seen == [("speed", "gear")]


def test_a_group_notifies_once_with_each_name_once() -> None:
    motor = Motor()
    seen = reports(motor)
    with motor.changes():
        motor.speed = 2.0
        motor.gear = 2
        motor.speed = 3.0
        assert seen == []
    assert seen == [("speed", "gear")]


def test_a_group_inside_a_group_reports_with_the_outer_one() -> None:
    motor = Motor()
    seen = reports(motor)
    with motor.changes():
        with motor.changes():
            motor.speed = 2.0
        assert seen == []
        motor.gear = 2
    assert seen == [("speed", "gear")]


def test_a_group_without_a_change_reports_nothing() -> None:
    motor = Motor()
    seen = reports(motor)
    with motor.changes():
        pass
    assert seen == []


def test_unwatch_ends_the_notifications() -> None:
    motor = Motor()
    first: list[tuple[str, ...]] = []
    stop = motor.watch(lambda _, names: first.append(names))
    second = reports(motor)
    stop()
    stop()
    motor.speed = 2.0
    assert (first, second) == ([], [("speed",)])


def test_a_failed_assignment_notifies_nobody() -> None:
    motor = Motor()
    seen = reports(motor)
    refused(motor, lambda: setattr(motor, "speed", -1.0))
    assert seen == []


def test_assign_is_all_or_nothing() -> None:
    motor = Motor(speed=2.0)
    error = refused(motor, lambda: motor.assign({"speed": 3.0, "gear": 2, "on": "yes"}))
    assert matches(str(error), "Motor.on: must be true or … 'yes'")


def test_an_error_in_a_group_undoes_the_group() -> None:
    motor = Motor(speed=2.0)
    before = dict(vars(motor))
    seen = reports(motor)
    with pytest.raises(RuntimeError, match="outside"), motor.changes():
        motor.speed = 3.0
        motor.gear = 2
        raise RuntimeError("outside")
    assert {**vars(motor), "_watchers": ()} == before
    assert seen == []


def test_a_group_works_again_after_a_failed_one() -> None:
    motor = Motor()
    refused(motor, lambda: setattr(motor, "speed", -1.0))
    seen = reports(motor)
    motor.speed = 2.0
    assert (motor.speed, seen) == (2.0, [("speed",)])


def test_validate_undoes_the_group() -> None:
    motor = Motor(speed=2.0)
    error = refused(motor, lambda: motor.assign({"gear": 3, "speed": 7.0}))
    assert str(error) == "Motor: seven is unlucky"


def test_validate_sees_the_group_as_a_whole() -> None:
    motor = Motor()
    with motor.changes():
        motor.speed = 7.0
        motor.speed = 8.0
    assert motor.speed == 8.0


def test_on_change_undoes_the_group_and_what_it_derived() -> None:
    motor = Motor(speed=2.0)
    error = refused(motor, lambda: motor.assign({"gear": 3, "speed": 9.0}))
    assert str(error) == "Motor: nine is too loud"
    assert motor._double == 4.0


def test_on_change_comes_before_the_watchers() -> None:
    motor = Motor()
    seen: list[float] = []
    motor.watch(lambda *_: seen.append(motor._double))
    motor.speed = 3.0
    assert seen == [6.0]


def test_no_value_is_missing_while_a_group_is_undone() -> None:
    """Another thread may read at any moment; a dict that was emptied would show the declaration."""

    class Watched(dict[str, object]):
        emptied = False

        def clear(self) -> None:
            type(self).emptied = True
            super().clear()

    motor = Motor()
    motor.__dict__ = Watched(vars(motor))
    refused(motor, lambda: motor.assign({"gear": 2, "speed": -1.0}))
    assert not Watched.emptied


@FIXED
@given(
    st.dictionaries(
        st.sampled_from(["on", "speed", "window", "axis", "gear", "secret"]),
        st.sampled_from([True, 2, -3, 2.5, "fast", None, [0, 0, 1], [1], float("nan"), {}]),
    )
)
def test_any_group_is_taken_whole_or_changes_nothing(values: dict[str, object]) -> None:
    motor = Motor(speed=3.0)
    before = dict(vars(motor))
    try:
        motor.assign(values)
    except PropertyError:
        assert vars(motor) == before
    else:
        assert motor.to_data() == {"speed": 3.0, **values}


def test_a_mapping_makes_a_nested_component() -> None:
    owner = Owner(lag={"steps": 3})
    assert isinstance(owner.lag, Lag)
    assert owner.lag.steps == 3
