"""Bench: suspended robots (base fixed, contacts off) in a separate world, for joint tests."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import mujoco
import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.attributes import CheckedAttributes
from mjrig.core.control.articulation import Articulation
from mjrig.core.control.controller import ArticulationController
from mjrig.core.control.execution import PlantComponent
from mjrig.core.control.sampler import FIELDS, BindingReader, SampleLog
from mjrig.core.errors import BindingError
from mjrig.core.findings import Finding, note
from mjrig.core.model.binding import ActuatorBinding
from mjrig.core.names import suggestion
from mjrig.core.sim.world import World
from mjrig.lab.rollouts.signals import (
    LONGEST,
    BoolArray,
    Kind,
    Metrics,
    Signal,
    Trace,
    final_position,
    follow,
    is_saturated,
    measure,
    settling,
    tail,
)

#: Inertia given to free roots, so that the robot cannot move them [kg and kg·m²].
HELD = 1e9
#: The solver's tolerance is relative to the mean inertia: with 1e-8 beside a huge one dry friction
#: is lost; with 0 the solver never terminates early.
TOLERANCE = 1e-20
#: Steady-state errors below this share of the amplitude need no explanation.
SMALL = 0.01
#: Loads that explain less than this share of an error are not named.
NAMED = 0.2


@dataclass(frozen=True)
class Response:
    """Response of one actuator to a test signal.

    `causes` are what keeps it from its target; `problem` is why there are no metrics.
    """

    actuator: str
    joint: str
    trace: Trace | None
    metrics: Metrics | None
    causes: tuple[Finding, ...] = ()
    problem: str = ""


class ResponseRecorder(SampleLog):
    """Samples some bindings of a robot at every step."""

    def __init__(self, robot: Articulation, bindings: Sequence[ActuatorBinding]) -> None:
        super().__init__(robot, bindings)
        self.bindings = tuple(bindings)

    @property
    def last(self) -> FloatArray:
        """The latest positions."""
        if not self._rows:
            return self.start
        row: FloatArray = self._rows[-1][1][FIELDS.index("position")]
        return row

    def traces(self) -> list[Trace]:
        """One trace per binding."""
        time, values = self.arrays()
        if not len(time):
            return []
        return [
            Trace(time, target, position, effort, raw, applied, float(start))
            for (target, position, effort, raw, applied), start in zip(
                values.transpose(2, 1, 0), self.start, strict=True
            )
        ]


@dataclass(frozen=True)
class Rest:
    """The state before a signal.

    `problem` is why there is none; `moving` has the speeds of actuators that are not still in it.
    """

    state: Any
    problem: str
    moving: Mapping[int, float]

    def why_not(self, binding: ActuatorBinding) -> str:
        """Why an actuator cannot be tested from it; empty: it can."""
        speed = self.moving.get(binding.actuator_id)
        if self.problem or speed is None:
            return self.problem
        unit = "m/s" if binding.effort_unit == "N" else "rad/s"
        return (
            f"never at rest: {LONGEST:g} s after the start it still moves at {speed:.2g} {unit}, "
            "and no response can be told from that"
        )


class Bench(CheckedAttributes):
    """Runs test signals in a world, which must not be used elsewhere afterwards.

    Free roots are held by a huge inertia, which changes no address and no contact filter; contacts
    are off; components that command (gaits, policies) are removed.
    """

    world: Final[World]

    def __init__(self, world: World) -> None:
        self.world = world
        for robot in world.articulations.values():
            for component in robot.components:
                if not isinstance(component, ArticulationController | PlantComponent):
                    robot.remove_component(component)
        suspend(world)

    def run(
        self,
        actor: str,
        actuators: Sequence[str],
        signal: Signal,
        *,
        together: bool = False,
        stop: Callable[[], bool] = lambda: False,
        rest: Rest | None = None,
    ) -> list[Response]:
        """Drive actuators by a signal, one after the other from the same state, or together.

        A step and a chirp are followed until the joints have come to rest, or LONGEST.

        Args:
            actor: name of the robot.
            actuators: names of actuators a law is bound to, and of native servos.
            signal: what is added to their setpoints.
            together: all at once.
            stop: polled during the run; true ends it, with the results so far.
            rest: state to begin with, if it is known.

        Raises:
            BindingError: no such actor, or no law is bound to an actuator.
        """
        robot = self.world[actor]
        bindings = [bound(robot, name) for name in actuators]
        rest = rest or self.rest(signal)
        found: list[Response] = []
        for group in [bindings] if together else [[b] for b in bindings]:
            if stop():
                break
            if rest.why_not(group[0]):
                found += [failed(b, rest.why_not(b)) for b in group]
                continue
            self.world.restore(rest.state)
            found += self._follow(robot, group, signal)
        return found

    def rest(self, signal: Signal, watch: Callable[[], object] = lambda: None) -> Rest:
        """Simulate from the start until the robots are still, compared with a signal.

        Args:
            signal: what they are to be still for.
            watch: called every few steps.
        """
        world = self.world
        world.reset()
        events = self._events()
        driven = [b for robot in world.articulations.values() for b in _driven(robot)]
        reader, data = BindingReader(driven), world.data
        moving: dict[int, float] = {}

        def step(count: int) -> None:
            world.step(count)
            watch()

        steps = settling(
            step,
            lambda: reader.position(data.qpos, data.actuator_length),
            world.timestep,
            signal,
        )
        for still, speed in steps:
            if text := self._divergence(events):
                return Rest(None, f"at rest already: {text}", {})
            pairs = zip(driven, still, speed, strict=True)
            moving = {b.actuator_id: float(v) for b, is_at_rest, v in pairs if not is_at_rest}
            if not moving:
                break
        return Rest(world.snapshot(), "", moving)

    def _follow(
        self, robot: Articulation, group: Sequence[ActuatorBinding], signal: Signal
    ) -> list[Response]:
        world, h = self.world, self.world.timestep
        recorder = ResponseRecorder(robot, group)
        columns = [robot.actuator_names.index(b.actuator) for b in group]
        base, scales = robot.setpoints.position[columns].copy(), scales_of(robot, group)
        events = self._events()

        def advance(step: int, offsets: FloatArray) -> BoolArray:
            robot.setpoints.position[columns] = base + offsets / scales
            world.step()
            recorder.take(h * (step + 1.0))
            return np.array([not self._divergence(events)])

        if not follow([signal], h, lambda: recorder.last[None], advance).all():
            return [failed(b, self._divergence(events)) for b in group]
        return [
            respond(world, robot, b, t, signal)
            for b, t in zip(group, recorder.traces(), strict=True)
        ]

    def _events(self) -> int:
        return self.world.event_count

    def _divergence(self, since: int) -> str:
        """The divergence among the events after a count, as text; empty: there is none."""
        new = self._events() - since
        found = self.world.events[-new:] if new else ()
        return next((str(e) for e in found if e.kind == "diverged"), "")


def _driven(robot: Articulation) -> list[ActuatorBinding]:
    laws = [b for c in robot.controllers if c.follows_pose for b in c.bindings]
    return [*laws, *(s.binding for s in robot.servos if not s.why_no_response)]


def scales_of(robot: Articulation, bindings: Sequence[ActuatorBinding]) -> FloatArray:
    """Position of the joint per unit of the setpoint: 1 under a law, else as a servo has it."""
    servos = {s.binding.actuator_id: s.scale for s in robot.servos}
    return np.array([servos.get(b.actuator_id, 1.0) for b in bindings])


def suspend(world: World) -> None:
    """Hold the free roots of a world in place and switch contacts off, then reset it."""
    model = world.model
    for joint in np.flatnonzero(model.jnt_type == int(mujoco.mjtJoint.mjJNT_FREE)):
        first = int(model.jnt_dofadr[joint])
        model.dof_armature[first : first + 6] = HELD
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    model.opt.tolerance = TOLERANCE
    mujoco.mj_setConst(model, world.data)
    world.reset()


def bound(robot: Articulation, actuator: str) -> ActuatorBinding:
    """The binding of an actuator that a law drives, or that is a servo itself.

    Raises:
        BindingError: there is no such actuator, or it has no law; the message gives the reason.
    """
    laws = {b.actuator: b for c in robot.controllers if c.follows_pose for b in c.bindings}
    if actuator in laws:
        return laws[actuator]
    servo = next((s for s in robot.servos if s.binding.actuator == actuator), None)
    if servo is not None and servo.why_no_response:
        raise BindingError(f"{robot.name}.{actuator}: {servo.why_no_response}")
    if servo is not None:
        return servo.binding
    if actuator in robot.actuator_names:
        raise BindingError(f"{robot.name}: no law is bound to {actuator!r}; it has no gains")
    hint = suggestion(actuator, [b.actuator for b in _driven(robot)])
    raise BindingError(f"{robot.name} has no actuator {actuator!r}; {hint}")


def respond(
    world: World, robot: Articulation, binding: ActuatorBinding, trace: Trace, signal: Signal
) -> Response:
    """The response in a trace; the world must be in the state after its last step."""
    metrics = measure(trace, signal)
    causes: tuple[Finding, ...] = ()
    error = metrics.steady_state_error
    if signal.kind is Kind.STEP and final_position(trace) is None:
        moving = note(
            "moving", robot.name, (binding.actuator,), here=float(trace.time[-1]), unit="s"
        )
        error = float(trace.target[-1] - trace.position[-1])
        causes = (moving, *explain(world, robot, binding, trace, error))
    elif error is not None and abs(error) > SMALL * abs(signal.amplitude):
        causes = tuple(explain(world, robot, binding, trace, error))
    return Response(binding.actuator, binding.joint, trace, metrics, causes)


def failed(binding: ActuatorBinding, text: str) -> Response:
    """The response of an actuator that could not be tested."""
    return Response(binding.actuator, binding.joint, None, None, problem=text)


# Causes of a steady-state error ----------------------------------------------------------------


def explain(
    world: World, robot: Articulation, binding: ActuatorBinding, trace: Trace, error: float
) -> list[Finding]:
    """Causes of the steady-state error, the likeliest first, judged at the last step."""
    unit = binding.effort_unit or "N·m"
    where = robot.name, (binding.actuator,)
    found: list[Finding] = []
    held = float(np.mean(tail(is_saturated(trace).astype(float))))
    if held > 0.5:
        effort = abs(float(trace.applied_effort[-1]))
        found.append(note("saturation", *where, here=effort, unit=unit))
    kp, ki = _gain(robot, binding, "kp"), _gain(robot, binding, "ki")
    if kp is None:  # such as a network: no stiffness to divide a load by
        return found
    if kp == 0.0:
        return [*found, note("no stiffness", *where)]
    if ki and held <= 0.5:
        found.append(note("integral", *where, here=ki))
    if not binding.on_joint:
        return found
    loads = _loads(world, binding)
    for kind, load in sorted(loads.items(), key=lambda item: -abs(item[1])):
        if load / (kp * error) > NAMED:
            values = {"sag": abs(load) / kp, "error": abs(error), "kp": kp}
            found.append(note(kind, *where, here=abs(load), unit=unit, **values))
    return found


def _loads(world: World, binding: ActuatorBinding) -> dict[str, float]:
    """What pulls a joint away from its target, besides its actuator [N·m or N]."""
    data, dof = world.data, binding.dof_address
    kinds = mujoco.mjtConstraint
    low, high = binding.joint_range or (-np.inf, np.inf)
    away_from_high = -1.0 if data.qpos[binding.qpos_address] > (low + high) / 2.0 else 1.0
    limit = away_from_high * _force(data, kinds.mjCNSTR_LIMIT_JOINT, binding.joint_id)
    friction = _force(data, kinds.mjCNSTR_FRICTION_DOF, dof)
    rest = float(data.qfrc_constraint[dof]) - limit - friction
    spring = _own_spring(world, binding)
    return {
        "gravity sag": float(data.qfrc_bias[dof] - data.qfrc_gravcomp[dof]),
        "joint spring": -spring,
        "tendon springs": spring - float(data.qfrc_spring[dof]),
        "joint limit": -limit,
        "dry friction": -friction,
        "contact" if data.ncon > 0 else "constraint": -rest,
    }


def _own_spring(world: World, binding: ActuatorBinding) -> float:
    """Force of the spring of the joint itself."""
    model, joint, at = world.model, binding.joint_id, binding.qpos_address
    if not (model.jnt_stiffness[joint] or model.jnt_stiffnesspoly[joint].any()):
        return 0.0
    if not (model.tendon_stiffness.any() or model.tendon_stiffnesspoly.any()):
        return float(world.data.qfrc_spring[binding.dof_address])
    return float(-model.jnt_stiffness[joint] * (world.data.qpos[at] - model.qpos_spring[at]))


def _force(data: Any, kind: Any, index: int) -> float:
    """Force of the constraints of one kind that belong to one joint or degree of freedom."""
    own = (data.efc_type == int(kind)) & (data.efc_id == index)
    return float(np.sum(data.efc_force[own]))


def _gain(robot: Articulation, binding: ActuatorBinding, name: str) -> float | None:
    for controller in robot.controllers:
        for i, own in enumerate(controller.bindings):
            values: Any = controller.gains().get(name)
            if own.actuator_id == binding.actuator_id and values is not None:
                return float(values[i])
    for servo in robot.servos:
        if servo.binding.actuator_id == binding.actuator_id and name in servo.gains():
            return servo.gains()[name] * servo.gear**2
    return None
