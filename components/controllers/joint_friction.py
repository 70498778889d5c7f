"""JointFriction: dry friction of joints that depends on their speed and load."""

import importlib.util
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import mujoco
import numpy as np

from mjrig.components.laws.dry_friction import NAMES, dry_friction
from mjrig.core.arrays import FloatArray
from mjrig.core.control.articulation import Articulation
from mjrig.core.control.execution import Execution, PlantComponent, Support
from mjrig.core.errors import BindingError
from mjrig.core.names import is_literal, listed
from mjrig.core.pattern_program import pattern_budget
from mjrig.core.patterns import Slots
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.per_actuator import PerActuator
from mjrig.core.properties.scalar_kinds import Patterns
from mjrig.core.scene.motor_file import FRICTION, FrictionLaw

_EVERYTHING = (".*",)
_FRICTION = int(mujoco.mjtConstraint.mjCNSTR_FRICTION_DOF)
_SINGLE = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
_NOT_NATIVE = "MuJoCo has no joint friction that depends on load or speed"


def _coefficient(name: str) -> PerActuator:
    number = FRICTION[name]
    return PerActuator(
        constant=math.nan,
        min=0.0,
        above=number.positive,
        finite=True,
        unit=number.unit,
        category="Friction",
        doc=f"{number.doc}; not given: the motor's.",
    )


class JointFriction(PlantComponent):
    """Writes the frictionloss of joints before every step, from the forces of the last one.

    τf = Kc + Kl|τm − τe| + |Km τm − Ke τe| + s (Kcs + Kls|τm − τe| + |Kms τm − Kes τe| + Q), with
    s = exp(−|w/ws|^a), τm the actuators' torque and τe the torque of everything else. A joint
    whose motor (`motors` of the actor) has such a fit needs no further number. Viscous friction
    is the joint's damping.
    """

    _remembered: ClassVar[tuple[str, ...]] = (
        "_loads", "_given", "_frictionloss", "_coefficients",
    )  # fmt: skip

    joints = Patterns(
        _EVERYTHING,
        structural=True,
        refers=("joint",),
        doc="Joints it owns; not given: those whose motor has friction of this kind.",
    )
    coulomb = _coefficient("coulomb")
    stribeck = _coefficient("stribeck")
    stribeck_velocity = _coefficient("stribeck_velocity")
    stribeck_exponent = _coefficient("stribeck_exponent")
    load = _coefficient("load")
    load_stribeck = _coefficient("load_stribeck")
    motor_load = _coefficient("motor_load")
    external_load = _coefficient("external_load")
    motor_load_stribeck = _coefficient("motor_load_stribeck")
    external_load_stribeck = _coefficient("external_load_stribeck")
    motor_quadratic = _coefficient("motor_quadratic")
    external_quadratic = _coefficient("external_quadratic")

    def prepare(self) -> None:
        super().prepare()
        self._robot: Articulation | None = None
        self._joints: tuple[str, ...] = ()
        self._dofs = np.zeros(0, dtype=np.int64)
        self._rows = np.zeros((0, len(NAMES)))
        #: Torques of motors and of everything else in the last step.
        self._loads = np.zeros((2, 0))
        #: Whether `_loads` are given, not yet to be read from the last step.
        self._given = True
        #: Whether the friction in the model is of other coefficients than the present ones.
        self._is_stale = False
        self._selection: tuple[object, ...] = ()
        self._replaced = np.zeros(0)
        self._write: Callable[[], None] = lambda: None
        self._read_loads: Callable[[FloatArray], None] = lambda loads: None

    # Binding ------------------------------------------------------------------------------------

    @property
    def owned(self) -> tuple[str, ...]:
        """The joints it owns, in id order."""
        return self._joints

    def attach(self, articulation: HasProperties) -> None:
        assert isinstance(articulation, Articulation)
        self._bind(articulation)

    def _bind(self, robot: Articulation) -> None:
        """Own the joints that `joints` selects, without load; all or nothing."""
        model, where, names = robot.model, robot.model_map, robot.joint_names
        chosen = self._choose(robot)
        self._refuse_owned_twice(robot, chosen)
        joints = tuple(names[i] for i in chosen)
        self._selection = self._selected_by()
        self.spread_over(Slots([(n,) for n in joints], robot.label, "joint"))
        self._release()
        self._joints, self._robot = joints, robot
        self._dofs = model.jnt_dofadr[where.joint_ids[chosen]].astype(np.int64)
        self._replaced = model.dof_frictionloss[self._dofs].copy()
        self._loads = np.zeros((2, len(self._dofs)))
        self._load_coefficients()
        self._start()
        self.mark_attached()

    def _selected_by(self) -> tuple[object, ...]:
        return self.is_authored("joints"), self.joints

    def _resolve(self, names: Sequence[str]) -> None:
        # After a change of `joints`, `_bind` resolves the values for the new joints.
        if self._robot is None or self._selection == self._selected_by():
            super()._resolve(names)

    @pattern_budget()
    def _choose(self, robot: Articulation) -> list[int]:
        """Indices of the joints it owns."""
        names, motors = robot.joint_names, robot.model_map.motors
        kinds = robot.model.jnt_type[robot.model_map.joint_ids]
        if not self.is_authored("joints"):
            return [
                i
                for i, name in enumerate(names)
                if name in motors
                and motors[name].motor.law is not FrictionLaw.M1
                and "frictionloss" not in motors[name].overridden
            ]
        slots = Slots([(name,) for name in names], robot.label, "joint")
        found: dict[int, None] = {}
        for number, pattern in enumerate(self.joints):
            at = () if isinstance(self.authored("joints"), str) else (number,)
            try:
                matched = slots.match(pattern)
            except BindingError as error:
                raise BindingError(f"{self.label}.joints: {error}", ("joints",), at=at) from None
            for i in matched:
                problem = self._why_not(names[i], int(kinds[i]), robot)
                if not problem:
                    found[i] = None
                elif is_literal(pattern) or int(kinds[i]) in _SINGLE:
                    text = f"{self.label}.joints: {names[i]!r} {problem}"
                    raise BindingError(text, ("joints",), at=at)
        return sorted(found)

    @staticmethod
    def _why_not(name: str, kind: int, robot: Articulation) -> str:
        if kind not in _SINGLE:
            return "is neither a hinge nor a slide"
        motor = robot.model_map.motors.get(name)
        if motor is not None and "frictionloss" in motor.overridden:
            return "has its friction in dynamics.frictionloss already; give one of them"
        return ""

    def _refuse_owned_twice(self, robot: Articulation, chosen: list[int]) -> None:
        mine = {robot.joint_names[i] for i in chosen}
        for other in robot.components:
            if isinstance(other, JointFriction) and other is not self:
                both = [name for name in other.owned if name in mine]
                if both:
                    raise BindingError(
                        f"{self.label}: the friction of {listed(both)} belongs to {other.label} "
                        "already; make the joints of both disjoint",
                        ("joints",),
                    )

    def detach(self) -> None:
        self._release()
        self.spread_over(None)

    def _release(self) -> None:
        """Restore the friction that the model had before."""
        if self._robot is not None:
            self._robot.model.dof_frictionloss[self._dofs] = self._replaced
            self._robot = None

    def on_change(self, names: tuple[str, ...]) -> None:
        if self._robot is None or self._slots is None:
            return
        if self._selection != self._selected_by():
            self._bind(self._robot)
        else:
            self._load_coefficients()
            self._expect_writing()

    def _load_coefficients(self) -> None:
        """The coefficients of every joint: its own, its motor's, or none."""
        assert self._robot is not None
        motors = self._robot.model_map.motors
        self._rows = np.zeros((len(self._joints), len(NAMES)))
        for k, name in enumerate(NAMES):
            usual = FRICTION[name].default
            fits = [motors[j].motor.fit if j in motors else None for j in self._joints]
            theirs = [usual if fit is None else getattr(fit, name) or 0.0 for fit in fits]
            own = self.__dict__[name]
            self._rows[:, k] = np.where(np.isnan(own), theirs, own)
        self._prepare_writing()

    # Run ----------------------------------------------------------------------------------------

    def supports(self) -> dict[str, Support]:
        fast = importlib.util.find_spec("numba") is not None
        missing = "needs the extra 'fast': pip install 'mjrig[fast]' (no numba)"
        return {
            "python": Support(True, "the reference"),
            "compiled": Support(fast, "it has a kernel" if fast else missing),
            "native": Support(False, _NOT_NATIVE),
        }

    def run_as(self, execution: Execution) -> None:
        super().run_as(execution)
        self._prepare_writing()

    def _prepare_writing(self) -> None:
        """How the friction is computed and written, with the present coefficients."""
        if self._robot is None:
            return
        frictionloss, qvel = self._robot.model.dof_frictionloss, self._robot.data.qvel
        rows, dofs, (motor, external) = self._rows, self._dofs, self._loads
        if self._execution.name == "compiled":
            from mjrig.components.executions.kernel import read_loads, write_friction

            self._set_writer(
                lambda: write_friction(rows, dofs, qvel, motor, external, frictionloss)
            )
            self._read_loads = partial(_read_compiled, self._robot.data, dofs, read_loads)
            return
        self._read_loads = _PlainLoads(self._robot.data, dofs)
        joints = list(zip(rows.tolist(), dofs.tolist(), strict=True))

        def write() -> None:
            for i, (row, dof) in enumerate(joints):
                speed, there, load = float(qvel[dof]), float(motor[i]), float(external[i])
                frictionloss[dof] = dry_friction(row, speed, there, load)

        self._set_writer(write)

    def _set_writer(self, write: Callable[[], None]) -> None:
        """The first call after a change also notes that the model has the new friction."""

        def write_first() -> None:
            write()
            self._write, self._is_stale = write, False

        self._write = write_first if self._is_stale else write

    def _expect_writing(self) -> None:
        """The friction in the model is of other coefficients: write it before the next step."""
        self._is_stale = True
        self._prepare_writing()
        if self._given:
            self._write()

    def take_forces(self) -> None:
        if not self._given:
            self._read_loads(self._loads)
            self._given = True
        if self._is_stale:  # the first stage reads the friction, `before_controls` comes after it
            self._write()

    def before_controls(self, time: float) -> None:
        if self._given:
            self._given = False
        else:
            self._read_loads(self._loads)
        self._write()

    def _start(self) -> None:
        """No step was taken yet: no load."""
        self._loads[:] = 0.0
        self._given = True
        self._write()

    # Memory -------------------------------------------------------------------------------------

    def reset(self) -> None:
        if self._robot is not None:
            self._start()

    def memory_signature(self) -> object:
        return self._joints

    @property
    def _frictionloss(self) -> FloatArray:
        """The friction in the model, which MuJoCo's own state does not cover."""
        assert self._robot is not None
        values: FloatArray = self._robot.model.dof_frictionloss[self._dofs]
        return values

    @_frictionloss.setter
    def _frictionloss(self, values: FloatArray) -> None:
        assert self._robot is not None
        self._robot.model.dof_frictionloss[self._dofs] = values

    @property
    def _coefficients(self) -> FloatArray:
        """The coefficients of the friction in the model."""
        return self._rows

    @_coefficients.setter
    def _coefficients(self, rows: FloatArray) -> None:
        if not np.array_equal(rows, self._rows):
            self._expect_writing()
        elif self._is_stale:
            self._is_stale = False
            self._prepare_writing()

    def full_memory(self) -> tuple[Any, Any]:
        if self._robot is None:
            return None, self.memory()
        self.take_forces()
        return super().full_memory()


# Torques of the last step: of motors, and of all but motors and the joint's own friction. ---------


class _PlainLoads:
    """Reads them with numpy, into arrays that are made once."""

    def __init__(self, data: Any, dofs: Any) -> None:
        self._data, self._dofs = data, dofs
        self._forces = data.qfrc_actuator, data.qfrc_constraint, data.qfrc_bias
        self._friction = np.zeros(len(data.qvel))
        self._one = np.zeros(len(dofs))

    def __call__(self, loads: FloatArray) -> None:
        data, friction, one = self._data, self._friction, self._one
        kinds, ids, forces = data.efc_type, data.efc_id, data.efc_force
        friction.fill(0.0)
        first = data.ne
        for row in range(first, first + data.nf):  # numpy would make arrays of the chosen rows
            if kinds[row] == _FRICTION:
                friction[ids[row]] = forces[row]
        actuator, constraint, bias = self._forces
        motor, external = loads
        self._take(actuator, motor)
        self._take(constraint, external)
        self._take(friction, one)
        np.subtract(external, one, external)
        self._take(bias, one)
        np.subtract(external, one, external)

    def _take(self, values: FloatArray, out: FloatArray) -> None:
        values.take(self._dofs, 0, out, "clip")  # the default mode works on a copy of `out`


def _read_compiled(data: Any, dofs: Any, kernel: Callable[..., None], loads: FloatArray) -> None:
    first, last = data.ne, data.ne + data.nf
    kernel(
        dofs, data.qfrc_actuator, data.qfrc_constraint, data.qfrc_bias, data.efc_type[first:last],
        data.efc_id[first:last], data.efc_force[first:last], loads,
    )  # fmt: skip
