"""Temporary changes to the plant of a running robot: gains, limits, joints, solver."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Self

import mujoco
import numpy as np

from mjrig.core.control.articulation import Articulation
from mjrig.core.control.controller import ArticulationController
from mjrig.core.control.effort_limits import model_ranges
from mjrig.core.errors import MjrigError
from mjrig.core.model.binding import ActuatorBinding
from mjrig.core.properties import registry
from mjrig.core.properties.component import Component
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.sim.plant_parameters import INTEGRATORS, SOLVERS, plant_of
from mjrig.core.sim.world import World

JOINT_FIELDS = ("armature", "damping", "frictionloss", "stiffness")
_CODES = {
    "integrator": {name: code for code, name in INTEGRATORS.items()},
    "solver": {name: code for code, name in SOLVERS.items()},
}


class CannotEdit(MjrigError):
    """A property of the plant that cannot be changed while the world runs."""


class PlantEdit:
    """Changes to one robot of a world, taken back by `undo` or at the end of a `with` block."""

    def __init__(self, world: World, robot: Articulation) -> None:
        self._world, self._robot = world, robot
        self._undo: list[Callable[[], object]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.undo()

    def undo(self) -> None:
        """Take everything back, the last change first."""
        while self._undo:
            self._undo.pop()()

    # Per joint ----------------------------------------------------------------------------------

    def set_joints(self, what: str, values: Mapping[str, float]) -> None:
        """Give joints other values of a property of `plant.PER_JOINT`.

        Raises:
            CannotEdit: this cannot be changed in a running world.
        """
        if what in JOINT_FIELDS:
            self._set_dofs(what, values)
        elif what == "torque_limit":
            self._set_limits(values)
        elif what == "delay":
            self._set_delay(values)
        else:
            self.set_gains(what, values)

    def _set_dofs(self, what: str, values: Mapping[str, float]) -> None:
        model = self._world.model
        spring = what == "stiffness"
        field = model.jnt_stiffness if spring else getattr(model, f"dof_{what}")
        self._keep(field)
        for joint, value in values.items():
            place = self._joint_id(joint)
            field[place if spring else int(model.jnt_dofadr[place])] = value
        if what == "armature":
            self._settle_constants()

    def _settle_constants(self) -> None:
        """What MuJoCo derives from masses must follow them, now and when they go back."""
        model = self._world.model
        fields = [v for n in dir(model) if isinstance(v := getattr(model, n), np.ndarray)]
        before = [f.copy() for f in fields]
        inertia = float(model.stat.meaninertia)  # scales the solver's tolerance
        mujoco.mj_setConst(model, mujoco.MjData(model))
        self._undo.append(lambda: setattr(model.stat, "meaninertia", inertia))
        for field, old in zip(fields, before, strict=True):
            if not np.array_equal(field, old):
                self._undo.append(partial(field.__setitem__, ..., old))

    def _joint_id(self, joint: str) -> int:
        return int(self._robot.model_map.joint_ids[self._robot.joint_names.index(joint)])

    def set_gains(self, what: str, values: Mapping[str, float]) -> None:
        """Give actuators, by their own or their joints' names, another value of a gain.

        Raises:
            CannotEdit: no controller and no servo has such a gain for one of them.
        """
        left = dict(values)
        for controller in self._controllers():
            if what in controller.gains():
                self._assign(controller, what, left)
        for binding in self._robot.actuators:
            name = _name_in(binding, left)
            servo = binding.kind == "position" and binding.on_joint and what in ("kp", "kv")
            if name is not None and servo:
                self._set_servo(binding, what, left.pop(name))
        if left:
            raise CannotEdit(f"no controller has a {what} for {next(iter(left))!r}")

    def _assign(
        self, controller: ArticulationController, what: str, left: dict[str, float]
    ) -> None:
        """Values of the joints a controller owns; takes them out of `left`."""
        array = np.array(controller.authored_gains()[what])
        names = [(i, _name_in(b, left)) for i, b in enumerate(controller.bindings)]
        mine = [(i, name) for i, name in names if name is not None]
        if not mine:
            return
        for i, name in mine:
            array[i] = left[name]
        for _, name in mine:
            left.pop(name, None)
        law: Any = controller.__dict__.get("law")
        is_own = law is None or what == "torque_limit"
        self.assign(controller if is_own else law, what, array)

    def assign(self, owner: HasProperties, what: str, value: object) -> None:
        """Set a property; undoing restores its authored value. None: its default."""
        prop = owner.property_named(what)
        if owner.is_authored(what):
            before = owner.authored(what)
            self._undo.append(lambda: prop.assign(owner, before))
        else:
            self._undo.append(lambda: owner.unset(what))
        if value is None:
            owner.unset(what)
        else:
            prop.assign(owner, value)

    def _set_servo(self, binding: ActuatorBinding, what: str, value: float) -> None:
        model, i = self._world.model, binding.actuator_id
        self._keep(model.actuator_gainprm, model.actuator_biasprm)
        if what == "kp":
            model.actuator_gainprm[i, 0] = value / binding.gear**2
            model.actuator_biasprm[i, 1] = -value / binding.gear**2
        else:
            model.actuator_biasprm[i, 2] = -value / binding.gear**2

    def _set_limits(self, values: Mapping[str, float]) -> None:
        """Everything that limits these joints is moved to the new limit."""
        model, robot = self._world.model, self._robot
        left = dict(values)
        for controller in self._controllers():
            if "torque_limit" in controller.gains():
                self._assign(controller, "torque_limit", left)
        self._widen_lowered(values)
        limited = model.actuator_forcelimited
        fields = (model.actuator_ctrlrange, model.actuator_forcerange, model.jnt_actfrcrange)
        self._keep(*fields, limited)
        lowered = {
            b.actuator_id for c in robot.controllers if c.lowered is not None for b in c.bindings
        }
        for binding in robot.actuators:
            if binding.joint not in values:
                continue
            limit, i = values[binding.joint], binding.actuator_id
            ranges = model_ranges(binding)
            if not np.isfinite(limit):
                limit = 1e9
            unlimited = not ranges and binding.joint in left
            if unlimited:  # a servo without any range of its own
                limited[i] = True
            if i in lowered or "forcerange" in ranges or unlimited:
                model.actuator_forcerange[i] = np.array([-limit, limit]) / abs(binding.gear)
            if i not in lowered and "ctrlrange" in ranges:
                at = binding.ctrl_address
                model.actuator_ctrlrange[at] = np.array([-limit, limit]) / abs(binding.factor)
            if "actuatorfrcrange" in ranges:
                model.jnt_actfrcrange[binding.joint_id] = -limit, limit

    def _widen_lowered(self, values: Mapping[str, float]) -> None:
        """The model's limits that native laws load again at every reset."""
        for controller in self._robot.controllers:
            if controller.lowered is None:
                continue
            low, high = controller.lowered.own_range
            self._keep(low, high)
            for i, binding in enumerate(controller.bindings):
                if binding.joint in values and np.isfinite(high[i]):
                    high[i] = min(values[binding.joint], 1e9) / abs(binding.gear)
                    low[i] = -high[i]

    def _set_delay(self, values: Mapping[str, float]) -> None:
        for controller in self._controllers():
            mine = {b.joint: values[b.joint] for b in controller.bindings if b.joint in values}
            if not mine:
                continue
            if controller.lowered is not None or "delay" not in controller.__dict__:
                raise CannotEdit("the delay of a native law is compiled in")
            before: Any = controller.__dict__["delay"]
            tick = self._world.timestep * int(getattr(controller, "decimation", 1))
            lags = np.zeros(controller.num_bindings)
            if before is not None and not before.is_authored("random"):
                seconds = before.is_authored("seconds")
                lags[:] = before.seconds / tick if seconds else before.steps
            for i, binding in enumerate(controller.bindings):
                if binding.joint in mine:
                    lags[i] = mine[binding.joint] / tick
            delay: Any = registry.get("Delay", Component)
            self.assign(controller, "delay", delay(steps=np.round(lags).tolist()))

    def _controllers(self) -> list[ArticulationController]:
        return [c for c in self._robot.controllers if c.enabled]

    # Of the whole -------------------------------------------------------------------------------

    def set_option(self, what: str, value: Any) -> None:
        """Give the solver another option of `plant.OVERALL`.

        Raises:
            CannotEdit: this cannot be changed in a running world.
        """
        option = self._world.model.opt
        if what == "gravity":
            self._keep(option.gravity)
            option.gravity[:] = value
            return
        code = _CODES.get(what, {}).get(value, value)
        if what == "disable_flags":
            what, code = "disableflags", self._bits(value)
        elif what not in ("integrator", "solver", "iterations", "ls_iterations"):
            raise CannotEdit(f"{what} is fixed once a world is built")
        if what == "integrator" and "RK4" in (value, INTEGRATORS[int(option.integrator)]):
            raise CannotEdit("RK4 is planned for when a world is built")
        before = getattr(option, what)
        self._undo.append(lambda: setattr(option, what, before))
        setattr(option, what, code)

    @staticmethod
    def _bits(names: Any) -> int:
        found = 0
        for name in names:
            with suppress(AttributeError):
                found |= int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{name.upper()}"))
        return found

    # Physics ------------------------------------------------------------------------------------

    def scale_friction(self, factor: float) -> None:
        """Multiply the sliding friction of every geom of the world."""
        self._keep(self._world.model.geom_friction)
        self._world.model.geom_friction[:, 0] *= factor

    def add_mass(self, kilograms: float, body: int | None = None) -> None:
        """Load a body, its inertia in proportion; None: the robot's first."""
        model, prefix = self._world.model, self._robot.model_map.prefix
        if body is None:
            body = next(i for i in range(1, model.nbody) if model.body(i).name.startswith(prefix))
        self._keep(model.body_mass, model.body_inertia)
        mass = float(model.body_mass[body])
        if mass > 0.0:
            model.body_inertia[body] *= (mass + kilograms) / mass
            model.body_mass[body] += kilograms
            self._settle_constants()

    def scale_strength(self, factor: float) -> None:
        """Multiply kp and kv of everything that has them."""

        plant = plant_of(self._world, self._robot)
        for what in ("kp", "kv"):
            gains = plant.joints.get(what, {})
            if gains:
                with suppress(CannotEdit):
                    self.set_joints(what, {j: factor * v for j, v in gains.items()})

    def _keep(self, *fields: Any) -> None:
        for field in fields:
            self._undo.append(partial(field.__setitem__, ..., field.copy()))


def _name_in(binding: ActuatorBinding, names: Mapping[str, float]) -> str | None:
    """The name by which an actuator is listed: its own, or its joint's."""
    return next((n for n in binding.names if n in names), None)
