"""Frequency responses and margins: measured, exact and on paper they are the same."""

import math
from pathlib import Path

import numpy as np
import pytest

from mjrig.core.sim.world import World
from mjrig.lab.check.closed_loop import is_stable
from mjrig.lab.check.feedback_loops import groups
from mjrig.lab.responses.frequency_response import (
    FrequencyResponse,
    LinearResponse,
    Margins,
    margins_of,
    measured,
)
from mjrig.lab.responses.joint_response import respond
from mjrig.lab.rollouts.joint_bench import Bench
from mjrig.lab.rollouts.signals import Kind, Signal
from tests.plugin.lab.scenes import BUNDLED, PD, scene, write_scene
from tests.worlds import hinge

CHIRP = Signal(Kind.CHIRP, 0.05, 0.5, 20.0, 2.0)
ROBOT = "robot", "drive"


def both(
    world: World,
    actor: str,
    actuator: str,
    signal: Signal = CHIRP,
) -> tuple[FrequencyResponse, FrequencyResponse]:
    """What is measured on a bench, and what the linear map says."""
    bench = Bench(world)
    bench.rest(signal)
    linear = LinearResponse.of(world)
    (found,) = bench.run(actor, [actuator], signal)
    assert found.trace is not None
    shown = measured(found.trace, signal, world.timestep)
    assert shown is not None
    return shown, linear.responses(shown.frequency)[actor, actuator]


def test_a_chirp_shows_the_response_on_paper(tmp_path: Path) -> None:
    # I = 0.5, kp = 50, kv = 5: ω = 10 rad/s, ζ = 0.5.
    shown, exact = both(World(scene(tmp_path, hinge(), PD)), *ROBOT)
    s = 2j * np.pi * shown.frequency
    assert np.abs(shown.value - exact.value).max() < 1e-5
    assert shown.value == pytest.approx(50.0 / (0.5 * s * s + 5.0 * s + 50.0), abs=0.006)


def test_bandwidth_and_peak_are_those_on_paper(tmp_path: Path) -> None:
    at = np.linspace(0.01, 5.0, 500)
    exact = LinearResponse.of(World(scene(tmp_path, hinge(), PD))).responses(at)[ROBOT]
    zeta, hertz = 0.5, 10.0 / (2.0 * math.pi)
    wide = math.sqrt(1 - 2 * zeta**2 + math.sqrt(4 * zeta**4 - 4 * zeta**2 + 2))
    assert exact.bandwidth == pytest.approx(wide * hertz, rel=0.01)
    assert exact.peak is not None
    assert exact.peak[0] == pytest.approx(hertz * math.sqrt(0.5), rel=0.02)
    assert exact.peak[1] == pytest.approx(1.1547, rel=0.01)


@pytest.mark.parametrize("zeta", [0.05, 0.3, 0.5, 0.65, 0.72, 1.0, 3.0])
def test_a_resonance_is_between_the_samples_and_never_invented(zeta: float) -> None:
    at = np.asarray(np.geomspace(0.013, 7.0, 60), float)
    s, noise = 1j * at, 1.0 + 1e-4 * np.sin(1e3 * at)
    found = FrequencyResponse(at, noise / (s * s + 2 * zeta * s + 1.0)).peak
    if zeta > math.sqrt(0.5):
        assert found is None
    else:
        assert found is not None
        assert found[0] == pytest.approx(math.sqrt(1 - 2 * zeta**2), rel=0.05)
        height = 1 / (2 * zeta * math.sqrt(1 - zeta**2))
        assert found[1] == pytest.approx(height, rel=0.05 if zeta > 0.1 else 0.4)


def test_an_overdamped_joint_has_no_resonance(tmp_path: Path) -> None:
    law = "{type: PDController, kp: 50, kv: 15}"
    shown, exact = both(World(scene(tmp_path, hinge(), law)), *ROBOT)
    assert shown.peak is None and exact.peak is None


def test_a_sine_that_has_not_swung_in_shows_nothing(tmp_path: Path) -> None:
    path = write_scene(tmp_path, hinge(), "{type: PDController, kp: 50, kv: 0.2}")
    (found,) = respond(path, signal=Signal(Kind.SINE, 0.1, 2.0, duration=2.0))
    assert found.measured is None
    assert [cause.kind for cause in found.response.causes] == ["no frequency response"]


def test_a_curve_that_never_falls_has_no_bandwidth_and_one_point_no_peak() -> None:
    flat = FrequencyResponse(np.array([1.0, 2.0]), np.ones(2, complex))
    point = FrequencyResponse(np.array([1.0]), np.ones(1, complex))
    assert flat.bandwidth is None and flat.peak is None
    assert point.bandwidth is None and point.peak is None


def test_a_sine_gives_gain_and_phase_at_its_frequency(tmp_path: Path) -> None:
    signal = Signal(Kind.SINE, 0.1, 2.0, duration=3.0)
    shown, exact = both(World(scene(tmp_path, hinge(), PD)), *ROBOT, signal)
    assert shown.frequency.tolist() == [2.0]
    assert shown.value == pytest.approx(exact.value, abs=1e-4)


def test_dry_friction_is_far_from_the_linear_response(tmp_path: Path) -> None:
    smooth = both(World(scene(tmp_path, hinge(), PD)), *ROBOT)
    rough = both(World(scene(tmp_path, hinge(joint='frictionloss="0.3"'), PD)), *ROBOT)
    assert smooth[0].distance(smooth[1]) < 1e-4
    assert rough[0].distance(rough[1]) > 0.1


def test_a_saturated_sine_is_far_from_it_too(tmp_path: Path) -> None:
    weak = "{type: PDController, kp: 50, kv: 5, torque_limit: 0.5}"
    signal = Signal(Kind.SINE, 0.5, 1.0, duration=3.0)
    shown, exact = both(World(scene(tmp_path, hinge(), weak)), *ROBOT, signal)
    assert shown.distance(exact) > 0.05


def test_other_signals_and_short_ones_show_no_frequencies(tmp_path: Path) -> None:
    world = World(scene(tmp_path, hinge(), PD))
    bench = Bench(world)
    for signal in (
        Signal(duration=0.2),
        Signal(Kind.SINE, frequency=1.0, duration=0.5),
        Signal(Kind.CHIRP, frequency=0.1, end_frequency=0.11, duration=0.2),
    ):
        (found,) = bench.run("robot", ["drive"], signal)
        assert found.trace is not None
        assert measured(found.trace, signal, world.timestep) is None


@pytest.mark.parametrize(
    ("controller", "sim", "tolerance"),
    [
        ("{type: PIDController, kp: 50, ki: 60, kv: 5}", "", 1e-3),
        ("{type: PDController, kp: 50, kv: 5, effort: implicit}", "", 5e-3),
        (PD, "{integrator: implicitfast, actuation: implicit}", 1e-5),
        (PD, "{integrator: RK4}", 1e-5),
        ("{type: PDController, kp: 50, kv: 5, delay: {steps: 7}}", "", 1e-4),
        ("{type: PDController, kp: 50, kv: 5, decimation: 4}", "", 0.01),
    ],
)
def test_the_linear_map_is_exact(
    tmp_path: Path, controller: str, sim: str, tolerance: float
) -> None:
    shown, exact = both(World(scene(tmp_path, hinge(), controller, sim=sim)), *ROBOT)
    assert np.abs(shown.value - exact.value).max() < tolerance


def test_gravity_is_in_the_linear_map() -> None:
    shown, exact = both(World(BUNDLED / "pendulum.yaml"), "pendulum", "swing")
    assert np.abs(shown.value - exact.value).max() < 1e-4


def test_joints_that_push_each_other_are_linearised_together() -> None:
    world = World(BUNDLED / "quadruped.yaml")
    world.model.dof_frictionloss[:] = 0.0  # the only thing that is not linear
    signal = Signal(Kind.CHIRP, 0.01, 0.5, 20.0, 2.0)
    shown, exact = both(world, "quadruped", "FL_thigh", signal)
    assert np.abs(shown.value - exact.value).max() < 1e-3


# Margins ----------------------------------------------------------------------------------------


def margins(world: World) -> Margins:
    found = LinearResponse.of(world).margins(*ROBOT)
    assert found is not None
    return found


def test_margins_are_those_on_paper(tmp_path: Path) -> None:
    """L = (kv s + kp) / (I s²): |L| = 1 at ω² = (kv² + √(kv⁴ + 4 I² kp²)) / 2 I²."""
    slow = scene(tmp_path, hinge(), PD, sim="{timestep: 0.0001}")
    found = margins(World(slow))
    square = (5.0**2 + math.sqrt(5.0**4 + 4 * 0.5**2 * 50.0**2)) / (2 * 0.5**2)
    crossover = math.sqrt(square)
    assert found.crossover == pytest.approx(crossover / (2 * math.pi), rel=1e-3)
    phase = math.degrees(math.atan2(5.0 * crossover, 50.0))
    assert found.phase_margin == pytest.approx(phase, abs=0.1)
    assert found.delay_margin == pytest.approx(math.radians(phase) / crossover, rel=2e-3)


@pytest.mark.parametrize(
    "controller", [PD, "{type: PIDController, kp: 50, ki: 60, kv: 5}", PD[:-1] + ", decimation: 4}"]
)
def test_the_gain_margin_is_where_it_becomes_unstable(tmp_path: Path, controller: str) -> None:
    world = World(scene(tmp_path, hinge(), controller))
    found = margins(world).gain_margin
    assert found is not None
    (group,) = groups(world)
    for factor, stable in ((0.99 * found, True), (1.01 * found, False)):
        assert is_stable(group.plant, group.loops(factor, factor, factor)) is stable


def test_an_implicit_loop_has_no_gain_margin(tmp_path: Path) -> None:
    sim = "{integrator: implicitfast, actuation: implicit}"
    world = World(scene(tmp_path, hinge(), PD, sim=sim))
    assert margins(world).gain_margin is None


def test_a_loop_that_never_reaches_one_has_no_phase_margin() -> None:
    frequency = np.array([1.0, 2.0, 4.0])
    found = margins_of(frequency, np.array([0.5, 0.4 - 0.1j, 0.1]))
    assert found == Margins(None, None, None, None)


def test_loops_of_several_rates_are_not_linearised(tmp_path: Path) -> None:
    from tests.worlds import arm

    world = World(
        scene(
            tmp_path,
            arm(),
            "{type: PDController, actuators: a, kp: 5, kv: 1}",
            "{type: PDController, actuators: b, kp: 5, kv: 1, decimation: 2}",
        )
    )
    linear = LinearResponse.of(world)
    assert linear.margins("robot", "a") is None
    assert linear.responses(np.array([1.0])) == {}
