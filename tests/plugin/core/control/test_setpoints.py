"""The setpoint store: writing by name, leases, and what changed."""

import numpy as np
import pytest

import mjrig
from mjrig import Source
from mjrig.components import PDController
from mjrig.core.control.setpoints import Setpoints
from mjrig.core.patterns import Slots
from tests.worlds import refused

NAMES = [("hip", "roll"), ("knee", "pitch"), ("grip",)]


def store(inputs: dict[str, int] | None = None) -> Setpoints:
    return Setpoints(Slots(NAMES, "dog"), inputs, "dog")


def test_a_new_store_is_zero() -> None:
    assert not store().values.any()


def test_the_public_arrays_are_the_memory_the_controllers_read() -> None:
    setpoints = store()
    setpoints.position[:] = [1, 2, 3]
    setpoints.velocity[1] = 4
    setpoints.feedforward[2] = 5
    assert setpoints.values.tolist() == [[1, 2, 3], [0, 4, 0], [0, 0, 5]]


def test_a_pattern_writes_what_it_matches() -> None:
    setpoints = store()
    setpoints.write({".*i.*": 0.5})
    assert setpoints.position.tolist() == [0.5, 0.5, 0.5]


def test_joint_and_actuator_names_mean_the_same() -> None:
    setpoints = store()
    setpoints.write({"roll": 1.0}, {"knee": 2.0}, {"grip": 3.0})
    assert setpoints.values.tolist() == [[1, 0, 0], [0, 2, 0], [0, 0, 3]]


def test_an_array_or_a_scalar_writes_all() -> None:
    setpoints = store()
    setpoints.write([1, 2, 3], 4.0)
    assert setpoints.position.tolist() == [1, 2, 3]
    assert setpoints.velocity.tolist() == [4, 4, 4]


def test_an_array_of_another_length_is_refused() -> None:
    message = "dog: targets must have 3 values, … shape (2,); … hip, knee, grip"
    with refused(ValueError, message):
        store().write([1, 2])


def test_an_array_that_is_not_of_numbers_is_refused() -> None:
    with refused(ValueError, "dog: targets must be numbers, … ['a', 'b', 'c']"):
        store().write(["a", "b", "c"])


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ({"hpi": 1.0}, "dog: 'hpi' matches no actuator or … 'dog'; … 'hip'?"),
        ({"x": 1.0}, "dog: 'x' matches no actuator or … 'dog'; … hip, roll, knee, pitch, grip"),
        ({"hip": 1.0, "h.*": 2.0}, "dog: 'hip' is matched by 'hip' (1.0) and 'h.*' (2.0)"),
        ({"hip": [1, 2]}, "dog: targets must be numbers, … {'hip': [1, 2]}"),
        ({"hip": "much"}, "dog: targets must be numbers, … {'hip': 'much'}"),
        ({"hip(": 1.0}, "dog: 'hip(' is not a valid … ), … 3"),
    ],
)  # fmt: skip
def test_targets_that_do_not_fit_are_refused(targets: dict[str, float], message: str) -> None:
    with refused(mjrig.BindingError, message):
        store().write(targets)


def test_a_refused_write_changes_nothing() -> None:
    setpoints = store()
    with pytest.raises(mjrig.BindingError):
        setpoints.write({"hip": 1.0}, {"nothing": 2.0})
    assert not setpoints.values.any()


def test_two_patterns_may_agree() -> None:
    setpoints = store()
    setpoints.write({"hip": 1.0, "h.*": 1.0})
    assert setpoints.position.tolist() == [1, 0, 0]


# Leases -----------------------------------------------------------------------------------------


def test_without_a_lease_the_source_is_script() -> None:
    assert store().source is Source.SCRIPT


def test_the_source_is_the_holder() -> None:
    setpoints = store()
    seen = []
    with setpoints.take(Source.POLICY):
        seen.append(setpoints.source)
    seen.append(setpoints.source)
    assert seen == [Source.POLICY, Source.SCRIPT]


@pytest.mark.parametrize(
    ("source", "value"), [("NETWORK", 0), ("UI", 1), ("SCRIPT", 2), ("REPLAY", 3), ("POLICY", 4)]
)
def test_sources_have_fixed_numbers(source: str, value: int) -> None:
    assert Source[source] == value


def test_each_actuator_has_its_own_source() -> None:
    setpoints = store()
    setpoints.take(Source.POLICY, actuators="hip|knee")
    setpoints.take(Source.UI, actuators="grip")
    assert [setpoints.source_of(i) for i in range(3)] == [Source.POLICY, Source.POLICY, Source.UI]


def test_a_held_actuator_is_refused_naming_the_holder() -> None:
    setpoints = store()
    setpoints.take(Source.POLICY, actuators="hip", holder="walk.onnx")
    message = "dog: 'hip' is held by 'walk.onnx' (POLICY); release …"
    with refused(mjrig.LeaseError, message):
        setpoints.write({".*": 1.0})
    assert not setpoints.values.any()


def test_what_is_not_held_may_be_written_by_name() -> None:
    setpoints = store()
    setpoints.take(Source.POLICY, actuators="hip|knee")
    setpoints.write({"grip": 1.0})
    assert setpoints.position.tolist() == [0, 0, 1]


def test_the_holder_writes_through_its_lease() -> None:
    setpoints = store()
    lease = setpoints.take(Source.UI, actuators="knee")
    lease.set_targets({"knee": 1.0}, velocity={"pitch": 2.0}, feedforward={"k.*": 3.0})
    assert setpoints.values[:, 1].tolist() == [1, 2, 3]


def test_disjoint_leases_coexist() -> None:
    setpoints = store()
    legs = setpoints.take(Source.POLICY, actuators="hip|knee")
    gripper = setpoints.take(Source.UI, actuators="grip")
    legs.set_targets({"hip": 1.0})
    gripper.set_targets({"grip": 2.0})
    assert setpoints.position.tolist() == [1, 0, 2]


def test_overlapping_leases_are_refused_naming_the_holder() -> None:
    setpoints = store()
    setpoints.take(Source.POLICY, actuators="hip|knee")
    message = "dog: 'knee' is held by 'policy' (POLICY); release …"
    with refused(mjrig.LeaseError, message):
        setpoints.take(Source.UI, actuators="knee|grip")
    assert len(setpoints.leases) == 1


def test_a_lease_covers_no_more_than_its_pattern() -> None:
    lease = store().take(Source.UI, actuators="knee")
    with refused(mjrig.LeaseError, "dog: 'hip' is not covered by … 'ui'"):
        lease.set_targets({"hip": 1.0})


def test_a_released_lease_no_longer_writes() -> None:
    lease = store().take(Source.UI)
    lease.release()
    with refused(mjrig.LeaseError, "the lease of 'ui' was …"):
        lease.set_targets(1.0)


def test_releasing_twice_is_fine() -> None:
    lease = store().take(Source.UI)
    lease.release()
    lease.release()
    assert not lease.is_held


def test_a_lease_on_nothing_is_refused() -> None:
    message = "'tail' matches no actuator or … 'dog'; … hip, roll, knee, pitch, grip"
    with refused(mjrig.BindingError, message):
        store().take(Source.UI, actuators="tail")


def test_public_arrays_are_read_only_while_anything_is_held() -> None:
    setpoints = store({"wrist": 4})
    with setpoints.take(Source.POLICY, actuators="hip"):
        arrays = (setpoints.position, setpoints.velocity, setpoints.feedforward)
        assert not any(a.flags.writeable for a in arrays)
        assert setpoints.inputs["wrist"].flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            setpoints.position[2] = 1.0


def test_release_makes_the_arrays_writeable_again() -> None:
    setpoints = store({"wrist": 4})
    setpoints.take(Source.POLICY, actuators="hip").release()
    setpoints.position[2] = 1.0
    setpoints.inputs["wrist"][:] = [1, 0, 0, 0]
    assert setpoints.values[0, 2] == 1.0


def test_arrays_stay_read_only_until_the_last_lease_is_released() -> None:
    setpoints = store()
    first = setpoints.take(Source.POLICY, actuators="hip")
    second = setpoints.take(Source.UI, actuators="grip")
    first.release()
    assert not setpoints.position.flags.writeable
    second.release()
    assert setpoints.position.flags.writeable


def test_a_lease_shows_who_holds_how_much() -> None:
    lease = store().take(Source.UI, actuators="hip|knee", holder="slider")
    assert repr(lease) == "Lease('slider', UI, 2 actuators)"


# State ------------------------------------------------------------------------------------------


def test_a_change_is_seen_once_by_whatever_way_it_was_written() -> None:
    setpoints = store()
    assert setpoints.changed()
    assert not setpoints.changed()
    setpoints.velocity[0] = 1.0
    assert setpoints.changed()
    assert not setpoints.changed()
    assert setpoints.version == 2


def test_a_snapshot_is_a_copy() -> None:
    setpoints = store({"wrist": 2})
    setpoints.write(1.0)
    state = setpoints.snapshot()
    setpoints.write(2.0)
    setpoints.inputs["wrist"][:] = 3.0
    setpoints.restore(state)
    assert setpoints.position.tolist() == [1, 1, 1]
    assert np.array_equal(setpoints.inputs["wrist"], [0, 0])


def test_an_unbound_controller_says_that_it_has_no_setpoints() -> None:
    message = "PDController is not bound: put … bind it"
    with refused(mjrig.BindingError, message):
        _ = PDController().setpoints


def test_a_lease_covers_the_inputs_it_names_and_its_holder_writes_them() -> None:
    setpoints = store({"wrist": 4})
    with setpoints.take(Source.POLICY, actuators="wrist", holder="walk") as lease:
        assert setpoints.position.flags.writeable
        assert not setpoints.inputs["wrist"].flags.writeable
        lease.set_input("wrist", [1, 0, 0, 0])
        message = "dog: 'wrist' is held by 'walk' (POLICY); release …"
        with refused(mjrig.LeaseError, message):
            setpoints.take(Source.UI)
    assert setpoints.inputs["wrist"].tolist() == [1, 0, 0, 0]
    with refused(mjrig.LeaseError, "'wrist' is not covered by … 'walk'"):
        lease.set_input("wrist", [1, 0, 0, 0])
