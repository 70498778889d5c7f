"""Which execution is chosen, why, and what third parties' laws, clamps and controllers get."""

import logging
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.components import (
    PD,
    PID,
    ArticulationController,
    Clamp,
    DCMotor,
    LawController,
    MaxEffort,
    PDController,
    PIDController,
    PositionTable,
)
from mjrig.components.controllers.pipeline_controller import PipelineController
from mjrig.components.executions.compiled_run import why_no_numba
from mjrig.lab.check.preflight import report, rows
from tests.components.executions.chains import (
    CURVE,
    TABLE,
    Edit,
    Twice,
    full,
    lockstep,
    maker,
    of,
    same_everywhere,
    trajectory,
)
from tests.worlds import arm, refused

pytest.importorskip("numba", reason="needs the extra 'fast'")


# What is chosen, and why ------------------------------------------------------------------------

IMPLICIT = (
    "under {} MuJoCo would integrate the gains implicitly; "
    "set sim: {{actuation: implicit}} to allow that"
)
RK4 = "under RK4 MuJoCo would evaluate the law at every stage, not once per step"


def lines_of(world: mjrig.World) -> list[str]:
    """The report of the check, line by line."""
    return [line.strip() for line in report(world).splitlines()]


@pytest.mark.parametrize("integrator", ["implicit", "implicitfast", "discrete"])
def test_gains_become_implicit_only_where_the_scene_says_so(integrator: str) -> None:
    make = maker(PDController(kp=30), sim={"integrator": integrator})
    execution = of(make("auto")).execution
    assert execution.name == "compiled"
    assert execution.reason == f"not native: {IMPLICIT.format(integrator)}"
    text = f"robot.PDController cannot run natively: {IMPLICIT.format(integrator)}"
    with refused(mjrig.ExecutionError, text):
        make("native")
    same_everywhere(make, names=["compiled", "auto"])


@pytest.mark.parametrize("integrator", ["implicit", "implicitfast", "discrete"])
def test_a_scene_may_ask_for_implicit_gains(integrator: str) -> None:
    sim = {"integrator": integrator, "actuation": "implicit"}
    make = maker(PDController(kp=30), sim=sim)
    execution = of(make("auto")).execution
    assert (execution.name, execution.reason) == ("native", "the scene sets actuation: implicit")
    explicit, implicit = trajectory(make("python"), 50), trajectory(make("auto"), 50)
    assert not np.array_equal(explicit, implicit)
    assert np.array_equal(trajectory(make("native"), 50), implicit)


@pytest.mark.parametrize("actuation", ["explicit", "implicit"])
def test_nothing_is_lowered_under_rk4(actuation: str) -> None:
    make = maker(PDController(kp=30), sim={"integrator": "RK4", "actuation": actuation})
    assert of(make("auto")).execution.reason == f"not native: {RK4}"
    with refused(mjrig.ExecutionError, f"robot.PDController cannot run natively: {RK4}"):
        make("native")
    same_everywhere(make, names=["compiled", "auto"])


@pytest.mark.parametrize("execution", ["python", "native", "compiled"])
def test_what_was_asked_for_is_what_runs(execution: str) -> None:
    world = maker(PDController())(execution)
    assert world.execution == execution
    assert of(world).execution.reason == "requested"
    assert str(of(world).execution) == execution
    assert f"robot.PDController runs as {execution}: requested" in lines_of(world)
    assert [r.execution for r in rows(world["robot"])] == [execution] * 5


def test_the_check_says_why_each_controller_runs_as_it_does() -> None:
    parts = [
        PDController(actuators="a"),
        PDController(actuators="b", clamps=[PositionTable(**TABLE)]),
        PDController(actuators="c", decimation=4),
        PDController(actuators="d", precision="float32"),
        PDController(actuators="e", effort="implicit"),
    ]
    lines = [line for line in lines_of(maker(*parts)("auto")) if "runs as" in line]
    assert lines == [
        "robot.PDController runs as native: bit-identical to MuJoCo's own computation",
        "robot.PDController_2 runs as compiled: not native: "
        "MuJoCo has no actuator limit that does what PositionTable does",
        "robot.PDController_3 runs as compiled: not native: "
        "it runs every 4 steps, a MuJoCo actuator every step",
        "robot.PDController_4 runs as python: not native: MuJoCo computes in float64; "
        "not compiled: the kernel computes in float64",
        "robot.PDController_5 runs as python: not native: effort: implicit solves in Python; "
        "not compiled: effort: implicit solves in Python",
    ]


@pytest.mark.parametrize(
    ("controller", "reason"),
    [
        (full(), "MuJoCo has no actuator limit that does what PositionTable does; "
                 "MuJoCo has no actuator limit that does what PositionTable does"),
        (PDController(decimation=2), "it runs every 2 steps, a MuJoCo actuator every step"),
        (PDController(precision="float32"), "MuJoCo computes in float64"),
        (PDController(effort="implicit"), "effort: implicit solves in Python"),
        (PDController(delay={"random": [0, 3]}), "a random delay is drawn in Python"),
        (PIDController(clamps=[DCMotor(**CURVE)]),
         "a dcmotor actuator uses its integral before it is updated"),
        (PDController(clamps=[MaxEffort(1), DCMotor(**CURVE)]),
         "something is clamped before the DCMotor"),
        (PDController(clamps=[DCMotor(**CURVE), DCMotor(**CURVE)]),
         "it has more than one DCMotor"),
        (PDController(clamps=[DCMotor(max_effort=2)]), "its DCMotor has no velocity limit"),
        (LawController(law=PD(kp=30, constant_effort=0.1)),
         "a constant effort is not part of a MuJoCo actuator"),
    ],
)  # fmt: skip
def test_native_says_why_it_cannot(controller: PipelineController, reason: str) -> None:
    label = f"robot.{type(controller).__name__}"
    with refused(mjrig.ExecutionError, f"{label} cannot run natively: {reason}"):
        maker(controller)("native")


def test_a_law_on_a_tendon_runs_in_python() -> None:
    xml = arm('<motor name="pull" tendon="cable"/>')
    make = maker(PDController(transmissions="all"), xml=xml)
    text = "robot.PDController cannot run natively: 'pull' is not on a joint"
    with refused(mjrig.ExecutionError, text):
        make("native")
    assert make("auto").execution == "python"


def test_a_constant_effort_is_compiled() -> None:
    make = maker(LawController(law=PID(kp=30, ki=4, constant_effort=0.1)))
    assert make("auto").execution == "compiled"
    same_everywhere(make, names=["compiled", "auto"])


def test_a_random_delay_is_compiled_and_drawn_the_same() -> None:
    make = maker(PDController(kp=30, delay={"random": [0, 6], "seed": 3}))
    assert make("auto").execution == "compiled"
    edits: dict[int, list[Edit]] = {30: [lambda w: w.reset()], 33: [lambda w: w.reset("bent")]}
    lockstep(make, edits, names=["compiled", "auto"])


# Third parties ----------------------------------------------------------------------------------


class Halve(Clamp):
    """A clamp that is nothing but Python."""

    def apply(self, effort: Any, q: Any, qd: Any, out: Any) -> None:
        np.multiply(effort, 0.5, out=out)


class Bang(ArticulationController):
    """A controller that is nothing but Python."""

    def compute_and_apply(self, model: Any, data: Any, source: mjrig.Source) -> None:
        data.ctrl[[b.ctrl_address for b in self.bindings]] = 0.1


OWN = [
    (
        LawController(law=Twice()),
        "MuJoCo has no actuator that computes Twice",
        "Twice is a Python law without a compiled form",
    ),
    (
        PDController(kp=9, clamps=[Halve()]),
        "MuJoCo has no actuator limit that does what Halve does",
        "Halve is a Python clamp without a compiled form",
    ),
    (Bang(), "Bang is written in Python", "Bang is written in Python"),
]


@pytest.mark.parametrize(("controller", "native", "compiled"), OWN)
def test_a_third_party_runs_in_python_and_the_reason_is_given(
    controller: ArticulationController,
    native: str,
    compiled: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    label = f"robot.{type(controller).__name__}"
    world = maker(controller)("auto")
    assert world.execution == "python"
    line = f"{label} runs as python: not native: {native}; not compiled: {compiled}"
    assert line in lines_of(world)
    with refused(mjrig.ExecutionError, f"{label} cannot run natively: {native}"):
        maker(controller)("native")
    assert caplog.messages == []
    with caplog.at_level(logging.WARNING, "mjrig"):
        asked = maker(controller)("compiled")
    assert caplog.messages == [f"{label} runs in python: {compiled}"]
    assert asked.execution == "python"
    assert asked["robot"].controllers[0].execution.reason == f"not compiled: {compiled}"


def test_a_third_party_beside_a_native_one_changes_no_bit() -> None:
    make = maker(
        PDController(kp=30, actuators="[ab]"),
        LawController(law=Twice(), actuators="[cd]"),
        Bang(actuators="e"),
    )
    assert make("auto").execution == "native+python"
    same_everywhere(make, names=["auto"])


@pytest.fixture
def looked_for_again() -> Iterator[None]:
    """Whether numba is installed is asked anew, before and after."""
    why_no_numba.cache_clear()
    yield
    why_no_numba.cache_clear()


@pytest.mark.usefixtures("looked_for_again")
def test_without_numba_compiled_falls_back_with_one_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import importlib.util

    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == "numba" else found(name, *a)
    )
    why = "needs the extra 'fast': pip install 'mjrig[fast]' (no numba)"
    with caplog.at_level(logging.INFO):
        world = maker(full())("compiled")
        expected = trajectory(maker(full())("python"), 50)
        assert np.array_equal(trajectory(world, 50), expected)
    assert caplog.messages == [f"robot.PIDController runs in python: {why}"]
    assert world.execution == "python"
    assert of(world).execution.reason == f"not compiled: {why}"
    table = "MuJoCo has no actuator limit that does what PositionTable does"
    reason = f"not native: {table}; {table}; not compiled: {why}"
    assert of(maker(full())("auto")).execution.reason == reason
