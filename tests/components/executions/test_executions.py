"""Four ways to execute, one behaviour: native, compiled and auto against python, bit for bit."""

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import cache
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import mjrig
from mjrig.check.check import report, rows
from mjrig.components import (
    MLP,
    PD,
    PID,
    ArticulationController,
    Clamp,
    DCMotor,
    Delay,
    Law,
    LawController,
    MaxEffort,
    NeuralController,
    PDController,
    PIDController,
    Pipeline,
    PositionTable,
)
from mjrig.components.controllers.pipeline_controller import PipelineController
from mjrig.errors import NeedsNewWorld
from mjrig.properties.scalar_kinds import Float
from tests.campaign import amount
from tests.worlds import GRIPPER, arm, hinge, make_scene, make_world, refused

pytest.importorskip("numba", reason="needs the extra 'fast'")

Array = npt.NDArray[np.float64]
Make = Callable[[str], mjrig.World]
Edit = Callable[[mjrig.World], object]
Values = Mapping[str, object]
SCENES = Path(str(files("mjrig.config").joinpath("scenes")))
FAST = ("native", "compiled", "auto")
ALL = ("python", *FAST)
#: Steps of a long comparison.
LONG = amount(150, 5000)

# Models and worlds ------------------------------------------------------------------------------

JOINTS = ("one", "two", "three", "four", "five")
#: Every sort of gear and limit there is, one motor each.
MOTORS = (
    'name="a" joint="one" gear="1"',
    'name="b" joint="two" gear="3" ctrlrange="-0.5 0.5"',
    'name="c" joint="three" gear="6.33" forcerange="-0.2 0.3"',
    'name="d" joint="four" gear="0.1"',
    'name="e" joint="five" gear="-2"',
)


def chain(
    motors: Sequence[str] = MOTORS, *, damping: float = 0.0, joint: str = "", option: str = ""
) -> str:
    """A hanging chain of hinges, one motor each; joint `four` has an actuatorfrcrange."""
    bodies = ""
    for k, name in enumerate(JOINTS[: len(motors)]):
        limit = 'actuatorfrcrange="-1 1"' if name == "four" else ""
        axis = ("0 1 0", "1 0 0")[k % 2]
        bodies += f'<body pos="0 0 -0.2"><joint name="{name}" axis="{axis}" {limit}/><geom/>'
    return f"""
    <mujoco>
      <compiler angle="radian" autolimits="true"/>
      <option timestep="0.001" {option}/>
      <default>
        <geom type="capsule" size="0.03" fromto="0 0 0 0 0 -0.2" contype="0" conaffinity="0"/>
        <joint armature="0.02" damping="{damping}" {joint}/>
      </default>
      <worldbody>{bodies}{"</body>" * len(motors)}</worldbody>
      <actuator>{"".join(f"<motor {m}/>" for m in motors)}</actuator>
      <keyframe><key name="bent" qpos="{" ".join(["0.3"] * len(motors))}"/></keyframe>
    </mujoco>"""


def maker(*components: mjrig.ActorComponent, xml: str = "", **more: Any) -> Make:
    """Makes a world of the chain, or of a model, under copies of these components."""

    def make(execution: str) -> mjrig.World:
        own = [c.copy() for c in components]
        return make_world(xml or chain(), own, execution=execution, **more)

    return make


def of(world: mjrig.World, index: int = 0) -> PipelineController:
    """A controller of the only robot."""
    (robot,) = world.articulations.values()
    controller = robot.controllers[index]
    assert isinstance(controller, PipelineController)
    return controller


# Trajectories -----------------------------------------------------------------------------------


def command(robot: mjrig.Articulation, rest: Array, step: int) -> None:
    """Setpoints that move: position, velocity and feedforward, out of phase."""
    phase = 0.004 * step + np.arange(len(rest))
    robot.setpoints.position[:] = rest + 0.3 * np.sin(phase)
    robot.setpoints.velocity[:] = 0.6 * np.cos(1.3 * phase)
    robot.setpoints.feedforward[:] = 0.5 * np.sin(0.7 * phase)


def trajectory(world: mjrig.World, steps: int, *, hold: int = 1, chunk: int = 1) -> Array:
    """qpos and qvel after every `hold` steps, with new setpoints every `hold` steps."""
    robots = [(r, r.setpoints.position.copy()) for r in world.articulations.values()]
    found = []
    for step in range(0, steps, hold):
        for robot, rest in robots:
            command(robot, rest, step)
        for _ in range(hold // chunk):
            assert world.step(chunk) == chunk
        found.append(np.concatenate([world.data.qpos, world.data.qvel]))
    return np.array(found)


def same_everywhere(make: Make, steps: int = 400, names: Sequence[str] = FAST) -> None:
    """Every execution has the bits of python, step by step and in chunks of 20."""
    python = make("python")
    held = trajectory(python, 200, hold=20)
    python.reset()
    moving = trajectory(python, steps)
    assert np.isfinite(moving).all()
    assert np.ptp(moving, axis=0).max() > 0.05
    for name in ("python", *names):
        world = make(name)
        assert np.array_equal(trajectory(world, steps), moving), name
        world.reset()
        assert np.array_equal(trajectory(world, 200, hold=20), held), name
        world.reset()
        assert np.array_equal(trajectory(world, 200, hold=20, chunk=20), held), name


STACKS: dict[str, Values] = {
    "pd": {},
    "pid": {"ki": 30.0},
    "pid saturated": {"ki": 30.0, "integral_max": 0.002},
    "delay 0": {"delay": {"steps": 0}},
    "delay 1": {"delay": {"steps": 1}},
    "delay 3": {"delay": {"steps": 3}},
    "delay mixed": {"delay": {"steps": "mixed"}},
    "pid and delay": {"ki": 30.0, "integral_max": 0.01, "delay": {"steps": "mixed"}},
}


def stacked(stack: str, size: int, **values: Any) -> PDController:
    """The controller of a stack, for so many actuators."""
    found: dict[str, Any] = {**deepcopy(dict(STACKS[stack])), **values}
    if found.get("delay") == {"steps": "mixed"}:
        found["delay"] = {"steps": [(0, 1, 3, 2)[i % 4] for i in range(size)]}
    return (PIDController if "ki" in found else PDController)(**found)


@cache
def bundled_size(name: str) -> int:
    """How many actuators the controller of a bundled scene drives."""
    return mjrig.World(SCENES / f"{name}.yaml", "python")[name].controllers[0].num_bindings


def bundled(name: str, stack: str) -> mjrig.Scene:
    """A bundled scene whose controller has a stack too."""
    file = SCENES / f"{name}.yaml"
    text = yaml.safe_load(file.read_text(encoding="utf-8"))
    text["actors"][0]["components"][0].update(stacked(stack, bundled_size(name)).to_data())
    return mjrig.Scene.parse(yaml.safe_dump(text), base=SCENES)


@pytest.mark.campaign
@pytest.mark.parametrize("stack", ["pd", "pid saturated", "delay 3", "pid and delay"])
@pytest.mark.parametrize("robot", ["pendulum", "quadruped", "humanoid", "arm"])
def test_a_bundled_robot_moves_the_same_however_it_is_executed(robot: str, stack: str) -> None:
    scene = bundled(robot, stack)
    assert mjrig.World(scene).execution == "native"
    same_everywhere(lambda name: mjrig.World(scene, name), LONG, ("native", "compiled"))


@pytest.mark.campaign
@pytest.mark.parametrize("damping", [0.0, 0.3])
@pytest.mark.parametrize("stack", STACKS)
def test_gears_and_limits_change_no_bit(stack: str, damping: float) -> None:
    controller = stacked(stack, 5, kp=[9, 40, 90, 26, 25], kv=0.7, torque_limit=2.0)
    make = maker(controller, xml=chain(damping=damping))
    assert make("auto").execution == "native"
    same_everywhere(make, LONG)


def test_every_limit_of_the_chain_acts() -> None:
    world = maker(stacked("pd", 5, kp=[9, 40, 90, 26, 25], kv=0.7, torque_limit=2.0))("python")
    robot, rest = world["robot"], np.zeros(5)
    ours, theirs = np.zeros(5, np.bool_), np.zeros(5, np.bool_)
    for step in range(2000):
        command(robot, rest, step)
        world.step()
        ours |= robot.effort != robot.raw_effort
        theirs |= np.abs(robot.applied_effort - robot.effort) > 1e-9
    assert ours.tolist() == [True, True, True, False, True]
    assert theirs.tolist() == [False, True, True, True, False]


@pytest.mark.parametrize("execution", FAST)
def test_limits_that_exclude_each_other_leave_the_models_the_last_word(execution: str) -> None:
    motors = ('name="a" joint="one" ctrlrange="1 2"', 'name="b" joint="two" forcerange="-9 -3"')
    make = maker(PDController(kp=50, torque_limit=0.5), xml=chain(motors))
    lockstep(make, steps=20, names=[execution])
    world = make(execution)
    world.step()
    assert world["robot"].applied_effort.tolist() == [1.0, -3.0]


@pytest.mark.parametrize(("low", "high"), [(-0.1, math.inf), (-0.1, 0.7), (0.0, 0.5)])
def test_an_asymmetric_limit_is_the_same_natively(low: float, high: float) -> None:
    clamp = MaxEffort(high, low)
    controller = PDController(kp=30, torque_limit=math.inf, clamps=[clamp])
    make = maker(controller)
    assert make("auto").execution == "native"
    same_everywhere(make)


# What MuJoCo has no exact form for --------------------------------------------------------------

CURVE = {"saturation_effort": 1.5, "velocity_limit": 4.0, "max_effort": 1.2}
TABLE = {"positions": [-0.5, -0.1, 0.2, 0.2, 0.6], "efforts": [0.4, 1.0, 0.8, 0.5, 0.3]}


def full(**values: Any) -> PIDController:
    """Delay, PID, torque-speed curve, two tables of different lengths, asymmetric limit."""
    short = {"type": "PositionTable", "positions": [-1.0, 1.0], "efforts": [0.6, 1.4]}
    clamps = [
        {"type": "DCMotor", **CURVE},
        {"type": "PositionTable", **TABLE},
        short,
        {"type": "MaxEffort", "max_effort": 0.9, "min_effort": -0.4},
    ]
    more: dict[str, Any] = {"delay": {"steps": 2}, "clamps": clamps, **values}
    return PIDController(kp=30, ki=20, kv=0.5, integral_max=0.01, torque_limit=0.8, **more)


def test_a_native_dc_motor_agrees_to_rounding() -> None:
    motors = tuple(m.split(" ctrlrange")[0].split(" forcerange")[0] for m in MOTORS)
    make = maker(PDController(kp=30, kv=0.5, clamps=[DCMotor(**CURVE)]), xml=chain(motors))
    python, native = make("python"), make("native")
    assert native.execution == "native"
    rest, met = np.zeros(5), 0
    for step in range(500):
        native.data.qpos[:], native.data.qvel[:] = python.data.qpos, python.data.qvel
        for world in (python, native):
            command(world["robot"], rest, step)
            world.step()
        expected = python["robot"].applied_effort
        np.testing.assert_allclose(native["robot"].applied_effort, expected, rtol=0, atol=1e-12)
        assert np.array_equal(native["robot"].effort, python["robot"].effort)
        met += int((python["robot"].raw_effort != python["robot"].effort).sum())
    assert met > 500


def test_auto_does_not_run_a_dc_motor_natively() -> None:
    make = maker(PDController(clamps=[DCMotor(**CURVE)]))
    execution = of(make("auto")).execution
    assert execution.name == "compiled"
    assert execution.reason == "not native: MuJoCo's form of it differs in the last bits"
    same_everywhere(make, names=["auto", "compiled"])


@pytest.mark.campaign
@pytest.mark.parametrize("clamp_targets", [False, True])
@pytest.mark.parametrize("decimation", [1, 4])
def test_the_full_stack_is_compiled_bit_for_bit(decimation: int, clamp_targets: bool) -> None:
    joint = 'range="-0.2 0.15"' if clamp_targets else ""
    controller = full(decimation=decimation, clamp_targets=clamp_targets)
    make = maker(controller, xml=chain(damping=0.1, joint=joint))
    assert make("auto").execution == "compiled"
    same_everywhere(make, LONG, ["compiled", "auto"])
    lockstep(make, steps=150, names=["compiled"])


def test_targets_are_clamped_the_same_natively() -> None:
    make = maker(PDController(clamp_targets=True), xml=chain(joint='range="-0.2 0.15"'))
    assert make("auto").execution == "native"
    same_everywhere(make)


@pytest.mark.parametrize("actuators", ["[ace]", ["d", "b"], "e"])
def test_a_part_of_the_actuators_is_driven_the_same(actuators: str | list[str]) -> None:
    same_everywhere(maker(full(actuators=actuators)), names=["compiled", "auto"])
    same_everywhere(maker(PIDController(kp=30, ki=9, actuators=actuators, delay=Delay(2))))


@pytest.mark.campaign
def test_two_controllers_each_run_in_their_own_way() -> None:
    make = maker(PDController(kp=30, actuators="[ad]", delay=Delay(1)), full(actuators="[ce]"))
    world = make("auto")
    assert world.execution == "compiled+native"
    assert [c.execution.name for c in world["robot"].controllers] == ["native", "compiled"]
    same_everywhere(make, LONG, ["compiled", "auto"])
    lockstep(make, names=["auto"])


@pytest.mark.parametrize("execution", FAST)
def test_a_gripper_beside_a_controller_is_driven_directly(execution: str) -> None:
    make = maker(PIDController(kp=30, ki=5, delay=Delay(2)), xml=GRIPPER)
    same_everywhere(make, names=[execution])
    world = make(execution)
    world["robot"].set_targets({"grip": 0.25})
    world.step(1000)
    assert world.data.qpos[1] == pytest.approx(0.25, abs=1e-3)


def test_two_robots_are_driven_the_same() -> None:
    def make(execution: str) -> mjrig.World:
        actors: dict[str, dict[str, object]] = {
            "left": {"components": [PDController(kp=20, delay=Delay([0, 1, 2, 3, 4]))]},
            "right": {"components": [full()], "pose": {"position": [0, 3, 0]}},
        }
        with TemporaryDirectory() as folder:
            models = {"left": chain(), "right": chain(damping=0.2)}
            return mjrig.World(make_scene(models, folder, actors, None), execution)

    assert make("auto").execution == "compiled+native"
    same_everywhere(make, 1000, ["compiled", "auto"])


POSITIVE = st.floats(0.05, 3.0)
CLAMPS = st.one_of(
    st.builds(MaxEffort, POSITIVE, st.floats(-3.0, 0.0)),
    st.builds(MaxEffort, st.lists(POSITIVE, min_size=3, max_size=3)),
    st.builds(DCMotor, POSITIVE, st.floats(0.1, 5.0), st.one_of(POSITIVE, st.just(math.inf))),
    st.builds(
        lambda x, y: PositionTable(sorted(x), y[: len(x)]),
        st.lists(st.floats(-0.6, 0.6), min_size=2, max_size=5),
        st.lists(st.floats(0.0, 3.0), min_size=5, max_size=5),
    ),
)


@pytest.mark.campaign
@settings(max_examples=amount(10, 500), deadline=None)
@given(
    clamps=st.lists(CLAMPS, max_size=4),
    gears=st.lists(st.floats(0.2, 7.0), min_size=3, max_size=3),
    signs=st.lists(st.sampled_from([-1.0, 1.0]), min_size=3, max_size=3),
    ki=st.sampled_from([0.0, 15.0]),
    lag=st.lists(st.integers(0, 4), min_size=3, max_size=3),
)
def test_any_stack_in_any_order_is_compiled_bit_for_bit(
    clamps: list[Clamp], gears: list[float], signs: list[float], ki: float, lag: list[int]
) -> None:
    factors = [g * s for g, s in zip(gears, signs, strict=True)]
    motors = [
        f'name="{n}" joint="{j}" gear="{g!r}"'
        for n, j, g in zip("abc", JOINTS, factors, strict=False)
    ]
    controller = PIDController(kp=25, ki=ki, kv=0.4, delay=Delay(lag), clamps=clamps)
    make = maker(controller, xml=chain(motors))
    expected = trajectory(make("python"), 60)
    assert np.array_equal(trajectory(make("compiled"), 60), expected)
    assert np.array_equal(trajectory(make("auto"), 60), expected)


# What is chosen, and why ------------------------------------------------------------------------

IMPLICIT = (
    "under {} MuJoCo would integrate the gains implicitly; "
    "set sim: {{actuation: implicit}} to allow that"
)
RK4 = "under RK4 MuJoCo would evaluate the law at every stage, not once per step"


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
    assert f"robot.PDController runs as {execution}: requested" in report(world).splitlines()
    assert [r.execution for r in rows(world["robot"])] == [execution] * 5


def test_the_check_says_why_each_controller_runs_as_it_does() -> None:
    parts = [
        PDController(actuators="a"),
        PDController(actuators="b", clamps=[PositionTable(**TABLE)]),
        PDController(actuators="c", decimation=4),
        PDController(actuators="d", precision="float32"),
        PDController(actuators="e", effort="implicit"),
    ]
    lines = [line for line in report(maker(*parts)("auto")).splitlines() if "runs as" in line]
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


class Twice(Law):
    """A law that is nothing but Python."""

    gain = Float(5.0)

    def compute(
        self, q: Any, qd: Any, target_q: Any, target_qd: Any, feedforward: Any, state: Any,
        dt: float, out: Any,
    ) -> None:  # fmt: skip
        out[...] = 2.0 * self.gain * (target_q - q) - qd


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
    assert line in report(world).splitlines()
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


# Lockstep: efforts, clamps and edits ------------------------------------------------------------


def state_of(world: mjrig.World) -> dict[str, Array]:
    """Everything that means the same in every execution."""
    found = {"qpos": world.data.qpos.copy(), "qvel": world.data.qvel.copy()}
    for robot in world.articulations.values():
        for name in ("effort", "raw_effort", "applied_effort"):
            found[f"{robot.name}.{name}"] = getattr(robot, name)
        for controller in robot.controllers:
            if isinstance(controller, PipelineController):
                for clamp, count in controller.clamp_counts.items():
                    found[f"{controller.label}.{clamp}"] = count
    return found


def assert_same(python: mjrig.World, other: mjrig.World, when: object) -> None:
    expected, found = state_of(python), state_of(other)
    assert list(expected) == list(found)
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=f"{name} at {when}")
    assert [str(e) for e in other.events] == [str(e) for e in python.events]


def lockstep(
    make: Make,
    edits: Mapping[int, Sequence[Edit]] | None = None,
    *,
    steps: int = 60,
    names: Sequence[str] = FAST,
    moving: bool = True,
) -> list[mjrig.World]:
    """Step python and others together, edit them alike, and compare all after every step."""
    python, *others = worlds = [make("python"), *(make(name) for name in names)]
    rest = python["robot"].setpoints.position.copy()
    for step in range(steps):
        for world in worlds:
            if moving and not world["robot"].setpoints.leases:
                command(world["robot"], rest, 5 * step)
            for edit in (edits or {}).get(step, ()):
                edit(world)
        for world in worlds:
            world.step()
        for other in others:
            assert_same(python, other, step)
    return worlds


def pid(**values: Any) -> PIDController:
    """A controller with an integral that saturates, a delay that fills and a limit that acts."""
    usual = {"kp": 20, "kv": 1, "ki": 30, "integral_max": 0.01, "torque_limit": 2.0}
    return PIDController(**{**usual, "delay": {"steps": 3, "max_steps": 6}, **values})


def pid_of(world: mjrig.World) -> PIDController:
    """The controller of such a world."""
    controller = of(world)
    assert isinstance(controller, PIDController)
    return controller


def assign(**values: object) -> Edit:
    """An edit of the controller's properties."""
    return lambda world: of(world).assign(values)


def with_delay(**values: object) -> Edit:
    """An edit of the controller's delay."""

    def edit(world: mjrig.World) -> None:
        delay = of(world).delay
        assert delay is not None
        delay.assign(values)

    return edit


def swap_law(world: mjrig.World, law: object) -> None:
    """Another law instead of the controller's own, whose gains mean nothing then."""
    controller = of(world)
    with controller.changes():
        for name in controller.own_gains:
            controller.unset(name)
        controller.assign({"law": law})


EDITS: dict[str, dict[int, list[Edit]]] = {
    "kp": {20: [assign(kp=33)]},
    "kv": {20: [assign(kv=[0, 1, 2, 3, 4])]},
    "torque_limit": {20: [assign(torque_limit={"[ab]": 0.3, "default": 1})]},
    "ki": {20: [assign(ki=5)]},
    "integral_max": {20: [assign(integral_max=0.003)], 40: [assign(integral_max=math.inf)]},
    "delay": {20: [with_delay(steps=5)], 40: [with_delay(steps=[0, 1, 2, 3, 6])]},
    "delay while filling": {2: [with_delay(steps=6)], 4: [with_delay(steps=1)]},
    "delay beyond its room": {20: [with_delay(max_steps=0), with_delay(steps=9)]},
    "seconds": {20: [assign(delay={"seconds": 0.004})]},
    "defaults": {20: [assign(kp=None, default_kp=70)], 30: [assign(default_torque_limit=3)]},
    "patch": {20: [lambda w: of(w).patch(kp={"c": 80}, torque_limit={"a|e": 0.2})]},
    "set_gains": {
        20: [lambda w: pid_of(w).set_gains([1, 2, 3, 4, 5], [0.1] * 5, [0.4] * 5)],
    },
    "several at once": {20: [assign(kp=50, ki=1), with_delay(steps=1), assign(kv=0.2)]},
    "off and on": {20: [assign(enabled=False)], 35: [assign(enabled=True)]},
    "off and on while filling": {2: [assign(enabled=False)], 4: [assign(enabled=True)]},
    "off, edit, on": {
        20: [assign(enabled=False)],
        25: [assign(kp=40), with_delay(steps=1)],
        30: [assign(enabled=True)],
    },
    "off, reset, on": {
        20: [assign(enabled=False)],
        25: [lambda w: w.reset("bent")],
        30: [assign(enabled=True)],
    },
    "removed": {20: [lambda w: w["robot"].remove_component(of(w))]},
    "removed and added": {
        20: [lambda w: w["robot"].remove_component(of(w))],
        30: [lambda w: w["robot"].add_component(pid(kp=50))],
    },
    "hold": {
        20: [lambda w: w["robot"].hold("bent")],
        40: [lambda w: w["robot"].release_hold()],
    },
    "clear": {20: [lambda w: w["robot"].clear()]},
    "keyframe": {20: [lambda w: w.reset("bent")], 40: [lambda w: w.reset()]},
    "owned actuators": {20: [assign(actuators="[bd]")], 40: [assign(actuators=".*")]},
    "clamps": {20: [assign(clamps=[{"type": "MaxEffort", "max_effort": 0.3}])]},
    "tables": {20: [assign(clamps=[{"type": "PositionTable", **TABLE}])]},
    "no delay": {20: [assign(delay=None)]},
    "decimation": {20: [assign(decimation=3)]},
    "clamp_targets": {20: [assign(clamp_targets=True)], 30: [assign(clamp_targets=False)]},
    "implicit": {20: [assign(effort="implicit")], 30: [assign(effort="explicit")]},
    "float32": {20: [assign(precision="float32")], 30: [assign(precision="float64")]},
    "own law": {20: [lambda w: swap_law(w, {"type": "PD", "kp": 9})]},
    "python law": {20: [lambda w: swap_law(w, Twice())]},
}  # fmt: skip


@pytest.mark.parametrize("edit", EDITS)
def test_a_live_edit_acts_the_same_in_every_execution(edit: str) -> None:
    lockstep(maker(pid(), xml=chain(joint='range="-1 1"')), EDITS[edit])


@pytest.mark.parametrize("edit", ["kp", "delay", "off and on", "keyframe", "hold", "clamps"])
def test_a_live_edit_of_the_full_stack_acts_the_same(edit: str) -> None:
    more = {"delay": {"steps": 3, "max_steps": 6}}
    lockstep(maker(full(**more)), EDITS[edit], names=["compiled", "auto"])
    lockstep(maker(full(**more, decimation=4)), EDITS[edit], names=["compiled", "auto"])


@pytest.mark.parametrize("execution", FAST)
def test_an_edit_of_a_law_or_clamp_inside_reaches_what_runs(execution: str) -> None:
    def edit(world: mjrig.World) -> None:
        controller = of(world)
        assert controller.law is not None
        controller.law.assign({"kp": 60})
        controller.clamps[0].assign({"max_effort": 0.2})

    make = maker(LawController(law=PID(kp=20, ki=9), clamps=[MaxEffort(1.0)]))
    _, world = lockstep(make, {20: [edit]}, names=[execution])
    assert world.execution == ("native" if execution == "auto" else execution)


@pytest.mark.parametrize("execution", FAST)
def test_an_edit_leaves_the_efforts_of_the_last_step_alone(execution: str) -> None:
    world = maker(pid())(execution)
    trajectory(world, 10)
    before = state_of(world)
    of(world).assign({"kp": 99, "ki": 2, "torque_limit": 0.1})
    with_delay(steps=1)(world)
    for name, values in state_of(world).items():
        np.testing.assert_array_equal(values, before[name], err_msg=name)


def test_what_only_mujoco_can_run_does_not_leave_it() -> None:
    make = maker(PIDController(kp=20, ki=3, integration="integrator", delay=Delay(2)))
    world, other = make("auto"), make("auto")
    assert world.execution == "native"
    reason = "integration: integrator needs MuJoCo's integrator"
    text = f"robot.PIDController: {reason}, and its structure changed while it ran"
    with refused(mjrig.PropertyError, text):
        of(world).assign({"clamp_targets": True})
    text = f"robot.PIDController: {reason}, and it has no room for a delay of 5 steps"
    with refused(mjrig.PropertyError, text):
        with_delay(steps=5)(world)
    assert np.array_equal(trajectory(world, 50), trajectory(other, 50))
    stepped = maker(PIDController(kp=20, ki=3))("python")
    with refused(NeedsNewWorld, f"robot.PIDController: {reason}: it needs a new world"):
        of(stepped).assign({"integration": "integrator"})
    plain = maker(PIDController(kp=20, ki=3))("python")
    assert np.array_equal(trajectory(stepped, 50), trajectory(plain, 50))


def test_what_no_longer_fits_runs_on_elsewhere_and_says_why() -> None:
    world = maker(pid())("native")
    with_delay(max_steps=0)(world)
    with_delay(steps=9)(world)
    reason = "no longer native: it has no room for a delay of 9 steps"
    assert (of(world).execution.name, of(world).execution.reason) == ("compiled", reason)
    other = maker(pid())("native")
    of(other).assign({"precision": "float32"})
    reason = "no longer native: its structure changed while it ran"
    assert (of(other).execution.name, of(other).execution.reason) == ("python", reason)
    compiled = maker(pid())("compiled")
    of(compiled).assign({"precision": "float32"})
    reason = "not compiled: the kernel computes in float64"
    assert (of(compiled).execution.name, of(compiled).execution.reason) == ("python", reason)


@pytest.mark.parametrize("execution", ALL)
def test_a_delay_above_its_room_is_refused_and_changes_nothing(execution: str) -> None:
    make = maker(pid())
    world, other = make(execution), make(execution)
    text = "robot.PIDController.delay: a delay of 7 steps is above max_steps 6"
    with refused(mjrig.PropertyError, text):
        with_delay(steps=7)(world)
    assert np.array_equal(trajectory(world, 40), trajectory(other, 40))


@pytest.mark.parametrize("execution", FAST)
def test_an_added_component_runs_in_python_on_what_was_lowered(execution: str) -> None:
    world = maker(pid())(execution)
    world["robot"].remove_component(of(world))
    world["robot"].add_component(pid())
    assert world.execution == "python"


def test_a_lease_is_followed_in_every_execution() -> None:
    def take(world: mjrig.World) -> None:
        lease = world["robot"].take(mjrig.Source.POLICY)
        lease.set_targets({"[ab]": 0.2, "c": -0.3}, feedforward={"d": 0.1})

    def end(world: mjrig.World) -> None:
        world["robot"].setpoints.leases[0].release()

    lockstep(maker(pid()), {10: [take], 30: [end]})


@pytest.mark.parametrize("row", ["position", "velocity", "feedforward"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_setpoint_that_is_not_finite_is_replaced_the_same(row: str, value: float) -> None:
    def spoil(world: mjrig.World) -> None:
        getattr(world["robot"].setpoints, row)[1] = value

    worlds = lockstep(maker(pid()), {20: [spoil], 21: [spoil]}, steps=40)
    for world in worlds:
        assert [e.kind for e in world.events] == ["non-finite setpoint"] * 2
        assert [e.joint for e in world.events] == ["two"] * 2


@pytest.mark.parametrize("execution", ALL)
def test_a_huge_but_finite_setpoint_is_no_event(execution: str) -> None:
    world = maker(PDController(kp=1))(execution)
    world["robot"].setpoints.position[0] = 1e9
    world.step(3)
    assert world.events == ()
    assert world["robot"].effort[0] == world["robot"].applied_effort[0] == 200.0


@pytest.mark.parametrize("execution", ALL)
def test_a_setpoint_mujoco_takes_for_no_number_is_held_back(execution: str) -> None:
    """Beyond 1e10 MuJoCo would zero the ctrl of every actuator."""
    world = maker(PDController(kp=1, kv=0.1))(execution)
    robot = world["robot"]
    robot.set_targets(0.5)
    world.step(3)
    robot.setpoints.position[0] = 1e11
    world.step()
    assert [e.kind for e in world.events] == ["non-finite setpoint"]
    assert robot.setpoints.position[0] == 0.5
    assert robot.applied_effort[1] != 0.0


def test_clamps_of_a_native_law_are_all_counted_if_asked_for() -> None:
    def make(execution: str) -> mjrig.World:
        controller = PDController(kp=50, kv=1, torque_limit=2, count_clamps=True)
        return maker(controller)(execution)

    counts = []
    for execution in ("python", "native", "compiled"):
        world = make(execution)
        world["robot"].set_targets(1.0)
        world.step(50)
        world["robot"].set_targets(-1.0)
        world.step(25)
        counts.append(of(world).clamp_counts["torque_limit"].tolist())
    assert counts[0] == counts[1] == counts[2]
    assert max(counts[0]) > 10


@pytest.mark.parametrize("decimation", [1, 3])
def test_an_effort_that_is_not_finite_is_held_back_the_same(decimation: int) -> None:
    def spoil(world: mjrig.World) -> None:
        world["robot"].setpoints.position[0] = 1e9
        world["robot"].setpoints.velocity[0] = -1e9

    controller = PIDController(kp=1e300, kv=1e300, ki=2, decimation=decimation)
    make = maker(controller, xml=chain(MOTORS[:2]))
    with np.errstate(all="ignore"):
        worlds = lockstep(make, {9: [spoil]}, steps=20, names=["compiled"], moving=False)
    for world in worlds:
        assert {e.kind for e in world.events} == {"non-finite effort"}
        assert {e.joint for e in world.events} == {"one"}
        assert np.isfinite(world.data.ctrl).all()
        assert np.isfinite(of(world).pipeline.state.integral).all()


@pytest.mark.parametrize("moving", [True, False])
@pytest.mark.parametrize(
    "components",
    [
        [pid()],
        [PDController(kp=9)],
        [full()],
        [full(decimation=4)],
        [PDController(kp=9, decimation=4)],
        [PDController(kp=9, actuators="[ab]"), full(actuators="[cd]")],
        [PDController(kp=9, actuators="[ab]"), full(actuators="[cd]", decimation=3)],
        [PDController(kp=9, actuators="[ab]"), LawController(law=Twice(), actuators="[cd]")],
        [PDController(kp=9, enabled=False)],
    ],
    ids=lambda c: "+".join(type(x).__name__ for x in c),
)
def test_what_others_write_into_ctrl_is_overwritten(
    components: list[ArticulationController], moving: bool
) -> None:
    def write(world: mjrig.World) -> None:
        world.data.ctrl[:] = 7.0

    def spoil(world: mjrig.World) -> None:
        world.data.ctrl[:] = math.nan

    edits = {k: [write] for k in range(10, 20)} | {k: [spoil] for k in range(20, 24)}
    make = maker(*components)
    clean = make("python")  # nobody writes into this one
    worlds = [make(name) for name in ("python", "compiled", "auto")]
    for step in range(30):
        for world in (clean, *worlds):
            if moving:
                command(world["robot"], np.zeros(5), 5 * step)
        for world in worlds:
            for edit in edits.get(step, ()):
                edit(world)
        for world in (clean, *worlds):
            world.step()
        for world in worlds:
            assert np.array_equal(world.data.qpos, clean.data.qpos), (world.execution, step)


@pytest.mark.parametrize("stack", ["pd", "delay mixed", "pid and delay"])
def test_efforts_and_clamps_mean_the_same_in_every_execution(stack: str) -> None:
    controller = stacked(stack, 5, kp=[9, 40, 90, 26, 25], kv=0.7, torque_limit=1.0,
                         clamps=[MaxEffort(1.5, -0.5)])  # fmt: skip
    worlds = lockstep(maker(controller), steps=300)
    counts = of(worlds[0]).clamp_counts
    assert list(counts) == ["clamps[0]", "torque_limit"]
    assert (counts["clamps[0]"] > 0).all()
    assert (counts["torque_limit"] > 0).all()


@pytest.mark.parametrize("execution", ALL)
def test_there_is_no_effort_before_the_first_step(execution: str) -> None:
    world = maker(PIDController(kp=20, ki=3, delay=Delay(2)))(execution)
    world["robot"].set_targets(0.7)
    for keyframe in (None, "bent"):
        world.reset(keyframe)
        assert world["robot"].effort.tolist() == [0.0] * 5
        assert world["robot"].raw_effort.tolist() == [0.0] * 5
        world.step(5)
        assert world["robot"].effort.all() == (keyframe is not None)


def test_the_memory_of_a_pipeline_can_be_seen_in_every_execution() -> None:
    python, *others = (maker(pid())(name) for name in ALL)
    expected = [trajectory(python, 2), trajectory(python, 50)]
    for other in others:
        assert np.array_equal(trajectory(other, 2), expected[0])
        trajectory(other, 50)
        seen, known = of(other).pipeline.state, of(python).pipeline.state
        assert np.array_equal(seen.integral, known.integral)
        assert np.array_equal(seen.delay_count, known.delay_count)


# Snapshots --------------------------------------------------------------------------------------


@pytest.mark.parametrize("execution", ALL)
@pytest.mark.parametrize("at", [0, 1, 2, 5, 50])
@pytest.mark.parametrize("controller", ["pid", "full", "decimated"])
def test_a_snapshot_is_a_bit_exact_rewind(execution: str, at: int, controller: str) -> None:
    parts = {"pid": pid(), "full": full(), "decimated": full(decimation=4)}
    name = execution if controller == "pid" or execution != "native" else "auto"
    world = maker(parts[controller])(name)
    rest = np.zeros(5)

    def go(first: int, count: int) -> list[dict[str, Array]]:
        found = [state_of(world)]
        for step in range(first, first + count):
            command(world["robot"], rest, 7 * step)
            world.step()
            found.append(state_of(world))
        return found

    go(0, at)
    state = world.snapshot()
    first = go(at, 30)
    for keyframe in (None, "bent", ""):
        if keyframe is not None:  # else simply rewound
            world.reset(keyframe or None)
        world.step(len(keyframe or ""))
        world.restore(state)
        for one, two in zip(first, go(at, 30), strict=True):
            for key, values in one.items():
                np.testing.assert_array_equal(two[key], values, err_msg=key)


@pytest.mark.parametrize("execution", ALL)
@pytest.mark.parametrize("at", [2, 30])
@pytest.mark.parametrize(("then", "now"), [(True, False), (False, True), (False, False)])
def test_a_snapshot_outlives_a_switch(execution: str, at: int, then: bool, now: bool) -> None:
    """What the law remembers is in it, whether it was enabled then or is now."""

    def run(name: str) -> Array:
        world = maker(pid())(name)
        trajectory(world, at)
        of(world).enabled = then
        trajectory(world, 4)
        state = world.snapshot()
        of(world).enabled = now
        trajectory(world, 7)
        world.restore(state)
        first = trajectory(world, 10)
        of(world).enabled = True
        return np.concatenate([first, trajectory(world, 20)])

    assert np.array_equal(run(execution), run("python"))


@pytest.mark.parametrize("execution", ALL)
def test_a_snapshot_outlives_a_delay_that_grew(execution: str) -> None:
    def run(name: str) -> Array:
        world = maker(pid(delay={"steps": 3}))(name)
        trajectory(world, 40)
        state = world.snapshot()
        trajectory(world, 5)
        with_delay(steps=8)(world)
        trajectory(world, 15)
        world.restore(state)
        return trajectory(world, 30)

    assert np.array_equal(run(execution), run("python"))


# Divergence -------------------------------------------------------------------------------------

#: NOTE: a ctrl above 1e10 MuJoCo would not take, and zero all of them.
WILD = {"kp": 1e9, "kv": 0.0, "torque_limit": 9e9}


@pytest.mark.parametrize("chunk", [1, 20])
@pytest.mark.parametrize("execution", ["python", "native", "compiled"])
def test_a_world_that_diverges_says_which_joint(execution: str, chunk: int) -> None:
    world = make_world(hinge(), [PDController(**WILD)], execution=execution)
    world["robot"].set_targets(0.1)
    for _ in range(100 // chunk):
        world.step(chunk)
        if world.events:
            break
    event = world.events[0]
    assert (event.kind, event.actor, event.joint) == ("diverged", "robot", "swing")
    assert event.message == (
        "robot.swing: diverged: its acceleration became too large; the world was reset"
    )


@pytest.mark.parametrize("execution", ["python", "native", "compiled"])
def test_a_divergence_in_the_first_step_is_seen_once(execution: str) -> None:
    world = make_world(hinge(), [PDController(**WILD)], execution=execution)
    world["robot"].set_targets(1e4)
    world.step()
    assert [e.kind for e in world.events] == ["diverged"]
    world["robot"].set_targets(0.0)
    world.step(5)
    world.reset()
    world.step(5)
    assert len(world.events) == 1


@pytest.mark.parametrize("execution", ["python", "native", "compiled"])
def test_a_divergence_pauses_a_world_that_asked_for_it(execution: str) -> None:
    world = make_world(hinge(), [PDController(**WILD)], execution=execution, pause_on_event=True)
    world["robot"].set_targets(0.1)
    taken = world.step(100)
    assert 0 < taken < 100
    assert world.paused
    assert [e.kind for e in world.events] == ["diverged"]
    assert world.step(10) == 0


@pytest.mark.parametrize("execution", ALL)
def test_an_event_pauses_every_execution_at_the_same_step(execution: str) -> None:
    world = maker(pid(), pause_on_event=True)(execution)
    assert world.step(5) == 5
    world["robot"].setpoints.position[2] = math.nan
    assert world.step(5) == 1
    world.resume()
    assert world.step(5) == 5


# Decimation -------------------------------------------------------------------------------------


def ticks(world: mjrig.World, steps: int) -> list[float]:
    """The first actuator's effort in each step, while its target moves in every step."""
    found = []
    for _ in range(steps):
        world["robot"].setpoints.feedforward[:] = float(world.steps + 1)
        world.step()
        found.append(float(world["robot"].effort[0]))
    return found


@pytest.mark.parametrize("execution", ["python", "compiled"])
def test_ticks_fall_on_every_kth_step_after_a_reset(execution: str) -> None:
    world = maker(PDController(kp=0, kv=0, decimation=3))(execution)
    assert ticks(world, 8) == [1.0, 1.0, 1.0, 4.0, 4.0, 4.0, 7.0, 7.0]
    world.reset()
    assert ticks(world, 4) == [1.0, 1.0, 1.0, 4.0]


@pytest.mark.parametrize("execution", ["python", "compiled"])
def test_the_phase_is_in_a_snapshot(execution: str) -> None:
    world = maker(PDController(kp=0, kv=0, decimation=3))(execution)
    ticks(world, 4)
    state = world.snapshot()
    assert ticks(world, 4) == [4.0, 4.0, 7.0, 7.0]
    world.reset()
    ticks(world, 2)
    world.restore(state)
    assert ticks(world, 4) == [4.0, 4.0, 7.0, 7.0]


@pytest.mark.parametrize("execution", ["python", "compiled"])
def test_a_delay_counts_ticks(execution: str) -> None:
    world = maker(PDController(kp=0, kv=0, decimation=2, delay=Delay(2)))(execution)
    assert ticks(world, 10) == [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 3.0, 3.0, 5.0, 5.0]


@pytest.mark.parametrize("execution", ["python", "compiled"])
def test_an_integral_grows_by_the_tick(execution: str) -> None:
    controller = PIDController(kp=0, kv=0, ki=1, decimation=5, torque_limit=1e-9)
    world = make_world(hinge(), [controller], execution=execution)
    world["robot"].set_targets(1.0)
    world.step(11)  # ticks on steps 0, 5 and 10
    assert of(world).pipeline.state.integral[0] == pytest.approx(3 * 0.005, rel=1e-6)
    assert of(world).raw_effort == pytest.approx([3 * 0.005], rel=1e-6)


@pytest.mark.parametrize("execution", ["python", "compiled"])
def test_a_delay_in_seconds_is_rounded_to_ticks(execution: str) -> None:
    controller = PDController(kp=0, kv=0, decimation=2, delay=Delay(seconds=0.004))
    assert ticks(maker(controller)(execution), 8) == [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 3.0, 3.0]


# Implicit effort --------------------------------------------------------------------------------


def test_implicit_effort_keeps_stiff_gains_stable() -> None:
    def ends(effort: str) -> mjrig.World:
        controller = PDController(kp=5e4, kv=500, torque_limit=9e9, effort=effort)
        world = make_world(hinge(inertia=0.5), [controller], sim={"timestep": 0.01})
        world["robot"].set_targets(0.3)
        world.step(200)
        return world

    assert any(e.kind == "diverged" for e in ends("explicit").events)
    stable = ends("implicit")
    assert stable.events == ()
    assert stable.data.qpos[0] == pytest.approx(0.3, abs=1e-3)


@pytest.mark.parametrize("gears", [("1", "1"), ("3", "-0.5")])
def test_implicit_effort_is_that_of_the_pipeline(gears: tuple[str, str]) -> None:
    motors = "".join(
        f'<motor name="{n}" joint="{j}" gear="{g}"/>'
        for n, j, g in zip("ab", ("shoulder", "elbow"), gears, strict=True)
    )
    controller = PDController(kp=[400, 300], kv=[9, 4], torque_limit=20, effort="implicit")
    world = make_world(arm(motors, option=""), [controller])
    robot = world["robot"]
    robot.set_targets([0.4, -0.2], velocity=[0.1, 0.2], feedforward=[0.5, -0.5])
    for _ in range(20):
        mujoco.mj_forward(world.model, world.data)
        inverse = np.zeros((2, 2))
        mujoco.mj_solveM(world.model, world.data, inverse, np.eye(2))
        pipe = Pipeline(PD([400, 300], [9, 4]), clamps=[MaxEffort(20)], size=2)
        at, targets = (world.data.qpos, world.data.qvel), robot.setpoints
        expected = pipe.step_implicit(
            *at, targets.position, targets.velocity, targets.feedforward, 0.001, inverse
        )
        world.step()
        assert robot.effort == pytest.approx(expected, rel=1e-5, abs=1e-6)


# Controllers from files -------------------------------------------------------------------------

HEAD = """\
mjrig: 1
actors:
  - name: dog
    model: chain.xml
    components:
      - """


def written(folder: Path, component: str, xml: str = "") -> Path:
    """A scene file with one component, given as flow or block text, beside its model."""
    (folder / "chain.xml").write_text(xml or chain())
    file = folder / "s.yaml"
    file.write_text(HEAD + component + "\n")
    return file


def loaded(folder: Path, component: str, execution: str = "python") -> mjrig.World:
    """A world from such a file."""
    return mjrig.World(written(folder, component), execution)


def test_a_pid_controller_is_read_from_a_file(tmp_path: Path) -> None:
    text = (
        "{type: PIDController, kp: 30, ki: {a: 5, default: 2}, integral_max: 0.1, kv: 1, "
        "delay: {steps: [0, 1, 2, 3, 4]}, decimation: 2, "
        "clamps: [{type: DCMotor, saturation_effort: 3, velocity_limit: 9}, "
        "{type: MaxEffort, max_effort: {a: 1, default: 2}}]}"
    )
    world = loaded(tmp_path, text)
    controller = of(world)
    assert isinstance(controller, PIDController)
    assert controller.ki.tolist() == [5, 2, 2, 2, 2]
    assert controller.decimation == 2
    assert controller.clamp_names == ("clamps[0]", "clamps[1]", "torque_limit")
    expected = trajectory(world, 100)
    for execution in ("compiled", "auto"):
        assert np.array_equal(trajectory(loaded(tmp_path, text, execution), 100), expected)


def test_a_float32_law_runs_in_float32(tmp_path: Path) -> None:
    text = "{type: PIDController, kp: 30, ki: 2, precision: float32, delay: {steps: 2}}"
    world = loaded(tmp_path, text)
    assert of(world).pipeline.state.integral.dtype == np.float32
    wide = loaded(tmp_path, text.replace("float32", "float64"))
    narrow, exact = trajectory(world, 100), trajectory(wide, 100)
    assert not np.array_equal(narrow, exact)
    np.testing.assert_allclose(narrow, exact, atol=1e-3)


@pytest.mark.parametrize("law", ["PD", "PID"])
def test_a_law_controller_does_what_the_controller_of_that_law_does(
    tmp_path: Path, law: str
) -> None:
    gains = "kp: 40, kv: 2" + (", ki: 6" if law == "PID" else "")
    more = "torque_limit: 3, delay: {steps: 2}, clamps: [{type: MaxEffort, max_effort: 2}]"
    one = f"{{type: LawController, law: {{type: {law}, {gains}}}, {more}}}"
    two = f"{{type: {law}Controller, {gains}, {more}}}"
    expected = trajectory(loaded(tmp_path, two), 200)
    assert loaded(tmp_path, one, "auto").execution == "native"
    for execution in ALL:
        world = loaded(tmp_path, one, execution)
        assert np.array_equal(trajectory(world, 200), expected), execution


def test_a_neural_controller_runs_the_network_of_a_file(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    from tests import networks

    (tmp_path / "nets").mkdir()
    file = tmp_path / "nets" / "net.onnx"
    networks.mlp(file, 2, {"model_type": "mlp", "effort_scale": 3.0})
    text = "{type: NeuralController, path: nets/net.onnx, torque_limit: 2, decimation: 2}"
    world = loaded(tmp_path, text)
    assert isinstance(of(world), NeuralController)
    robot, pipe = world["dog"], Pipeline(MLP(file), clamps=[MaxEffort(2)], size=5)
    held = np.zeros(5)
    for step in range(20):
        command(robot, np.zeros(5), 9 * step)
        if step % 2 == 0:
            target = robot.setpoints.position
            held = pipe.step(world.data.qpos, world.data.qvel, target, dt=0.002)
        world.step()
        np.testing.assert_allclose(robot.effort, held, atol=1e-5)
    auto = of(loaded(tmp_path, text, "auto"))
    assert auto.execution.reason == (
        "not native: MuJoCo has no network actuator; not compiled: networks run in onnxruntime"
    )


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_a_recurrent_network_is_in_a_snapshot(tmp_path: Path, kind: str) -> None:
    pytest.importorskip("onnxruntime")
    from tests import networks

    metadata = {"model_type": kind, "input_columns": ["position_error", "velocity"],
                "sample_dt_s": 0.001}  # fmt: skip
    getattr(networks, kind)(tmp_path / "net.onnx", metadata)
    world = loaded(tmp_path, "{type: NeuralController, path: net.onnx, delay: {steps: 1}}")
    trajectory(world, 10)
    state = world.snapshot()
    first = trajectory(world, 20)
    world.reset()
    world.restore(state)
    assert np.array_equal(trajectory(world, 20), first)


def test_a_network_trained_with_another_tick_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    from tests import networks

    metadata = {"model_type": "gru", "input_columns": ["velocity"], "sample_dt_s": 0.005}
    networks.gru(tmp_path / "net.onnx", metadata)
    text = "{type: NeuralController, path: net.onnx, decimation: %d}"
    assert of(loaded(tmp_path, text % 5)).is_bound
    with pytest.raises(mjrig.SceneError) as caught:
        loaded(tmp_path, text % 4)
    assert str(caught.value) == (
        f"{tmp_path}/s.yaml:6:9: actors[0].components[0]: dog.NeuralController: "
        "net.onnx: was trained with dt 0.005 s (sample_dt_s), got 0.004"
    )


#: What is wrong in a component, and where and how it is told.
WRONG = {
    "{type: LawController}": (
        "6:9",
        "law",
        "dog.LawController.law: needs a law, as in law: {type: PD, kp: 40}",
    ),
    "{type: NeuralController}": (
        "6:9",
        "path",
        "dog.NeuralController.path: needs an ONNX file",
    ),
    "{type: NeuralController, path: gone.onnx}": (
        "6:40",
        "path",
        "dog.NeuralController.path: there is no file 'gone.onnx'; available: chain.xml, s.yaml",
    ),
    "{type: PDController, clamps: [{type: MaxEffort, max_effort: -1}]}": (
        "6:69",
        "clamps[0].max_effort",
        "dog.PDController.clamps[0].max_effort: must be >= 0 N·m, got -1",
    ),
    "{type: PDController, clamps: [{type: MaxEfort}]}": (
        "6:46",
        "clamps[0]",
        "dog.PDController.clamps[0]: there is no clamp type 'MaxEfort'; did you mean 'MaxEffort'?",
    ),
    "{type: PDController, clamps: [{type: MaxEffort, max_effort: {z: 1}}]}": (
        "6:70",
        "clamps[0].max_effort",
        "dog.PDController.clamps[0].max_effort: 'z' matches no actuator or joint of 'dog'; "
        "available: a, one, b, two, c, three, d, four, e, five",
    ),
    "{type: PDController, clamps: [{type: MaxEffort}, {type: DCMotor, max_efort: 1}]}": (
        "6:74",
        "clamps[1].max_efort",
        "DCMotor has no property 'max_efort'; did you mean 'max_effort'?",
    ),
    "{type: PDController, clamps: [{type: PositionTable}]}": (
        "6:39",
        "clamps[0].positions",
        "dog.PDController.clamps[0]: needs positions and efforts",
    ),
    "{type: PDController, clamps: [{type: DCMotor, velocity_limit: 3}]}": (
        "6:39",
        "clamps[0].saturation_effort",
        "dog.PDController.clamps[0].saturation_effort: must be finite where velocity_limit is, "
        "got inf for 'a'",
    ),
    "{type: PDController, delay: {steps: [1, 2]}}": (
        "6:45",
        "delay.steps",
        "dog.PDController.delay.steps: must have 5 values, one per actuator, got 2; "
        "order: a, b, c, d, e",
    ),
    "{type: PDController, delay: {steps: -1}}": (
        "6:45",
        "delay.steps",
        "dog.PDController.delay.steps: must be >= 0 steps, got -1",
    ),
    "{type: PDController, delay: {steps: 5, max_steps: 3}}": (
        "6:59",
        "delay.max_steps",
        "dog.PDController.delay: a delay of 5 steps is above max_steps 3",
    ),
    "{type: PDController, law: {type: PDD}}": (
        "6:42",
        "law",
        "dog.PDController.law: there is no law type 'PDD'; did you mean 'PD'?",
    ),
    "{type: LawController, law: {type: PD, kp: -4}}": (
        "6:51",
        "law.kp",
        "dog.LawController.law.kp: must be >= 0 N·m/rad, got -4",
    ),
    "{type: LawController, law: {type: MLP, path: gone.onnx}}": (
        "6:54",
        "law.path",
        "dog.LawController.law.path: there is no file 'gone.onnx'; available: chain.xml, s.yaml",
    ),
    "{type: PDController, decimation: 0}": (
        "6:42",
        "decimation",
        "dog.PDController.decimation: must be >= 1 steps, got 0",
    ),
    "{type: PDController, precision: float16}": (
        "6:41",
        "precision",
        "dog.PDController.precision: must be one of float64, float32; got 'float16'",
    ),
}


@pytest.mark.parametrize("component", WRONG)
def test_a_nested_value_that_is_wrong_is_found(tmp_path: Path, component: str) -> None:
    where, path, text = WRONG[component]
    with pytest.raises(mjrig.SceneError) as caught:
        loaded(tmp_path, component)
    expected = f"s.yaml:{where}: actors[0].components[0].{path}: {text}"
    assert str(caught.value).replace(f"{tmp_path}/", "") == expected


# Found by review ----------------------------------------------------------------------------------


DC_LIMITS = ("saturation_effort", "velocity_limit")


@pytest.mark.parametrize(
    ("controller", "spoil"),
    [
        (
            PDController(clamps=[DCMotor(6, 4, 6)], kp=20, kv=1),
            lambda c: c.clamps[0].assign(dict.fromkeys(DC_LIMITS, np.inf)),
        ),
        (
            PDController(kp=20, kv=1, delay={"max_steps": 5, "steps": 1}),
            lambda c: (c.delay.unset("steps"), c.delay.assign({"random": [2, 4]})),
        ),
        (
            PDController(law={"type": "PD", "kp": 20, "kv": 1}),
            lambda c: setattr(c.law, "constant_effort", 3.0),
        ),
    ],
    ids=["no speed limit", "random delay", "constant effort"],
)
def test_an_edit_mujoco_cannot_follow_leaves_native(controller: Any, spoil: Any) -> None:
    def edit(world: mjrig.World) -> None:
        spoil(of(world))

    make = maker(controller)
    world = make("native")
    world.step(5)
    edit(world)
    world.step(20)
    assert of(world).execution.name in ("compiled", "python")
    assert of(world).execution.reason.startswith("no longer native: ")
    assert np.isfinite(world.data.qpos).all()
    assert world.events == ()


@pytest.mark.parametrize("execution", ALL)
def test_restoring_after_a_structural_change_is_refused_whole(execution: str) -> None:
    world = maker(PIDController(kp=20, ki=2, kv=1, delay={"steps": 3}))(execution)
    world["robot"].set_targets(0.4)
    world.step(20)
    snapshot = world.snapshot()
    of(world).delay = None
    world["robot"].set_targets(-0.4)
    world.step(5)
    before = world.data.qpos.copy(), world["robot"].setpoints.values.copy()
    with pytest.raises(mjrig.PropertyError, match="the snapshot is of another structure"):
        world.restore(snapshot)
    np.testing.assert_array_equal(world.data.qpos, before[0])
    np.testing.assert_array_equal(world["robot"].setpoints.values, before[1])


@pytest.mark.parametrize("execution", ["python", "compiled"])
def test_a_structural_edit_keeps_the_memory_that_still_fits(execution: str) -> None:
    world = maker(PIDController(kp=20, ki=2, kv=1))(execution)
    world["robot"].set_targets(0.4)
    world.step(20)
    before = of(world).pipeline.state.integral.copy()
    assert before.any()
    of(world).clamp_targets = True
    np.testing.assert_array_equal(of(world).pipeline.state.integral, before)


@pytest.mark.parametrize("execution", ALL)
def test_forces_are_those_of_python_before_the_first_step(execution: str) -> None:
    world = maker(PDController(kp=20, kv=1))(execution)
    assert world["robot"].applied_effort.tolist() == [0.0] * len(world["robot"].bindings)
    python = maker(PDController(kp=20, kv=1))("python")
    np.testing.assert_allclose(world.data.qacc, python.data.qacc, atol=1e-12)


def test_gains_beside_a_law_are_refused() -> None:
    message = "PDController.kp: has no effect with law; give it to the law, or remove law"
    with refused(mjrig.PropertyError, message):
        PDController(kp=999, law={"type": "PD", "kp": 1})


@pytest.mark.parametrize("execution", ALL)
def test_a_divergence_resets_everything_alike(execution: str) -> None:
    world = maker(PIDController(kp=1e9, ki=1e6, torque_limit=9e9))(execution)
    world["robot"].set_targets(0.4)
    world.step(50)
    assert [e.kind for e in world.events][:1] == ["diverged"]
    assert world.time == 0.0
    fresh = maker(PIDController(kp=1e9, ki=1e6, torque_limit=9e9))(execution)
    np.testing.assert_array_equal(world.data.qpos, fresh.data.qpos)
    np.testing.assert_array_equal(world["robot"].setpoints.values, fresh["robot"].setpoints.values)


def test_ticks_stay_on_their_grid_while_disabled() -> None:
    world = maker(PDController(kp=20, kv=1, decimation=5))("python")
    robot = world["robot"]
    world.step(8)
    of(world).enabled = False
    world.step()
    of(world).enabled = True
    ticked = []
    for step in range(9, 21):
        robot.set_targets(0.01 * step)
        before = robot.raw_effort.copy()
        world.step()
        if not np.array_equal(before, robot.raw_effort):
            ticked.append(step)
    assert ticked == [10, 15, 20]
