"""Where an import reports or rejects numbers: each case is on one of two sides of a threshold."""

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mjrig.components.importers import preflight
from mjrig.components.importers.isaac.observations import SensorPlace, imu_place
from mjrig.components.importers.isaac.run import _differ
from mjrig.components.importers.recordings.recorded_file import RecordedFile
from mjrig.components.importers.sources.joint_matching import ImportCase, Matched
from mjrig.components.importers.sources.vendor_file import VendorFile
from mjrig.components.importers.stacks.beyond_mimic import OMEGA, recovered
from mjrig.components.importers.stacks.leapp import BundleFile
from mjrig.components.importers.stacks.rl_sar import _base
from mjrig.components.policies.leapp import BundleTensor
from mjrig.core.arrays import FloatArray
from mjrig.core.errors import RecordingError, SceneError


def _case(robot: dict[str, Any], **found: Any) -> ImportCase:
    """A policy of one joint, with what the checks read of it and of its robot."""
    usual = {
        "trained": {}, "recovered": (), "start": None, "timestep": 0.002, "tick": 0.02,
        "default": [0.0],
    }  # fmt: skip
    source: Any = SimpleNamespace(robot=SimpleNamespace(**robot))
    policy: Any = SimpleNamespace(**usual | found)
    return ImportCase(source, policy, Matched(("knee",), {}, ()))


# Pre-flight -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("outside", "is_reported"), [(0.8e-3, False), (1.25e-3, True)])
def test_a_default_position_may_be_a_thousandth_out_of_range(
    outside: float, is_reported: bool
) -> None:
    for default in (1.0 + outside, -1.0 - outside):
        case = _case({"range_of": lambda joint: (-1.0, 1.0)}, default=[default])
        assert bool(list(preflight._about_ranges(case, False))) is is_reported


@pytest.mark.parametrize(("difference", "differs"), [(0.004, False), (0.00625, True)])
def test_parameters_of_the_training_differ_by_half_a_percent(
    difference: float, differs: bool
) -> None:
    for factor in (1.0 + difference, 1.0 - difference):
        robot = {
            "dof_value": lambda field, joint, value=0.02 * factor: value,
            "actuator_of": lambda joint: SimpleNamespace(effort_unit="N·m"),
        }
        case = _case(robot, trained={"armature": [0.02]})
        plant = list(preflight._compare_plant(case, "armature"))
        assert bool(plant) is differs


@pytest.mark.parametrize(
    ("number", "form"), [(0.8, None), (1.25, ""), (1.6, ""), (1.9, ""), (2.1, "stability lost")]
)
def test_a_held_kv_is_near_its_bound_from_one_and_beyond_it_from_two(
    number: float, form: str | None
) -> None:
    """h·kv/M of an inertia of 0.5 kg·m² with 2 ms."""
    case = _case({"inertias": lambda pose: {"knee": 0.5}}, kv=[number * 0.5 / 0.002])
    findings = list(preflight._about_stability(case))
    assert [f.form for f in findings] == ([] if form is None else [form])


@pytest.mark.parametrize(("away", "is_reported"), [(0.04, False), (0.0625, True)])
def test_a_start_away_from_the_model_by_three_degrees(away: float, is_reported: bool) -> None:
    robot = {
        "model": SimpleNamespace(qpos0=np.zeros(1)),
        "actuator_of": lambda joint: SimpleNamespace(qpos_address=0),
    }
    case = _case(robot, begin=preflight.Begin.RESET, default=[away])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(preflight, "_about_height", lambda case: iter(()))
        assert bool(list(preflight._about_start(case))) is is_reported


# Files ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("difference", "is_same"), [(0.8e-4, True), (1.25e-4, False)])
def test_a_sensor_is_at_a_place_up_to_a_ten_thousandth(
    tmp_path: Path, difference: float, is_same: bool
) -> None:
    """At the base itself, and at a site of it; by position and by angle."""
    turned = [math.cos(0.5 + difference / 2.0), 0.0, 0.0, math.sin(0.5 + difference / 2.0)]
    site = np.array([0.1, 0.0, 0.0]), np.array([math.cos(0.5), 0.0, 0.0, math.sin(0.5)])
    robot: Any = SimpleNamespace(
        base="base", base_sites=lambda: ["imu"], site_pose=lambda name: site
    )
    straight = [1.0, 0.0, 0.0, 0.0]
    for position, turn, place in (
        ([difference, 0.0, 0.0], straight, SensorPlace()),
        ([0.1 + difference, 0.0, 0.0], site[1].tolist(), SensorPlace("imu")),
        ([0.1, 0.0, 0.0], turned, SensorPlace("imu")),
    ):
        path = tmp_path / "env.yaml"
        path.write_text(
            f"{{prim_path: '/World/Robot/base', offset: {{pos: {position}, rot: {turn}}}}}"
        )
        entry = VendorFile(path).root
        if is_same:
            assert imu_place(entry, robot, False) == place
        else:
            with pytest.raises(ValueError, match="has no site"):
                imu_place(entry, robot, False)


@pytest.mark.parametrize(("difference", "differ"), [(0.8e-5, False), (1.25e-5, True)])
def test_numbers_of_two_files_of_a_run_agree_as_single_precision_does(
    difference: float, differ: bool
) -> None:
    for value in (40.0, -0.3):
        assert _differ(value, value * (1.0 + difference)) is differ


@pytest.mark.parametrize(("value", "is_read"), [(0.8e100, True), (1.25e100, False)])
def test_numbers_beyond_1e100_are_damaged(value: float, is_read: bool) -> None:
    log, rows = RecordedFile(Path("log"), {}), [[0.0], [-value]]
    if is_read:
        assert log.finite("q", rows, (2, 1)).tolist() == rows
    else:
        with pytest.raises(RecordingError, match="in row 1"):
            log.finite("q", rows, (2, 1))


@pytest.mark.parametrize(("difference", "agrees"), [(0.008, True), (0.0125, False)])
def test_damping_implies_the_armature_to_a_percent(difference: float, agrees: bool) -> None:
    kp = 400.0
    kv = 4.0 * kp / OMEGA * (1.0 + difference)
    limits, is_recovered = recovered([kp], [kv], [0.25])
    assert is_recovered is bool(limits) is agrees


@pytest.mark.parametrize(("difference", "is_constant"), [(0.8e-5, True), (1.25e-5, False)])
def test_gains_of_a_bundle_are_constant_to_five_digits(
    difference: float, is_constant: bool
) -> None:
    class Bundle(BundleFile):
        """Its gain depends on the inputs by a small part."""

        def __init__(self) -> None:
            self.path = Path("bundle")

        def _run(self, tensor: BundleTensor, seed: int) -> FloatArray:
            return np.array([1e4 * (1.0 + difference * seed)])

    tensor: Any = SimpleNamespace(name="kp")
    if is_constant:
        assert len(Bundle().constant_outputs([tensor])) == 1
    else:
        with pytest.raises(SceneError, match="change with what the policy sees"):
            Bundle().constant_outputs([tensor])


@pytest.mark.parametrize(("share", "is_whole"), [(0.8e-6, True), (1.25e-6, False)])
def test_a_tick_is_a_whole_number_of_steps_to_a_millionth(share: float, is_whole: bool) -> None:
    case = _case({}, timestep=0.005, tick=0.02 * (1.0 + share))
    if is_whole:
        assert case.timing == (0.005, 4)
    else:
        with pytest.raises(SceneError, match="no multiple of its timestep"):
            assert case.timing


@pytest.mark.parametrize(("depth", "is_found"), [(4, True), (5, False)])
def test_the_file_of_a_robot_is_up_to_five_folders_above(
    tmp_path: Path, depth: int, is_found: bool
) -> None:
    entry = "{num_of_dofs: 1, joint_mapping: [0], default_dof_pos: [0]}"
    (tmp_path / "base.yaml").write_text(f"robot: {entry}")
    folder = tmp_path.joinpath(*(f"f{k}" for k in range(depth)))
    folder.mkdir(parents=True)
    if is_found:
        assert _base(folder / "config.yaml", "walk") is not None
    else:
        with pytest.raises(SceneError, match=r"needs the base\.yaml"):
            _base(folder / "config.yaml", "walk")
