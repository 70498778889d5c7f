"""Change the plant of a running robot for a while: gains, limits, joints, solver."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Self

import mujoco
import numpy as np

from mjrig import registry
from mjrig.articulation import Articulation
from mjrig.binding import ActuatorBinding
from mjrig.component import Component
from mjrig.controller import ArticulationController
from mjrig.effort_limits import model_ranges
from mjrig.errors import MjrigError
from mjrig.sim2sim.plant_of import INTEGRATORS, SOLVERS
from mjrig.world import World

JOINT_FIELDS = ("armature", "damping", "frictionloss")
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
        elif what in ("kp", "kv"):
            self._set_gains(what, values)
        elif what == "torque_limit":
            self._set_limits(values)
        elif what == "delay":
            self._set_delay(values)
        else:
            raise CannotEdit(f"{what} is no property of a running robot")

    def _set_dofs(self, what: str, values: Mapping[str, float]) -> None:
        model = self._world.model
        field = getattr(model, f"dof_{what}")
        self._keep(field)
        for joint, value in values.items():
            dof = int(model.jnt_dofadr[self._joint_id(joint)])
            field[dof] = value
        if what == "armature":
            self._settle_constants()

    def _settle_constants(self) -> None:
        """What MuJoCo derives from masses must follow them, now and when they go back."""
        model = self._world.model
        names = [n for n in dir(model) if n.endswith("invweight0") or n in ("dof_M0", "stat")]
        before = {n: np.array(getattr(model, n)) for n in names if n != "stat"}

        def back() -> None:
            for name, value in before.items():
                getattr(model, name)[:] = value

        mujoco.mj_setConst(model, mujoco.MjData(model))
        self._undo.append(back)

    def _joint_id(self, joint: str) -> int:
        return int(self._robot.model_map.joint_ids[self._robot.joint_names.index(joint)])

    def _set_gains(self, what: str, values: Mapping[str, float]) -> None:
        left = dict(values)
        for controller in self._controllers():
            if what in controller.gains():
                self._assign(controller, what, left)
        for binding in self._robot.actuators:
            if binding.joint in left and binding.kind == "position" and binding.on_joint:
                self._set_servo(binding, what, left.pop(binding.joint))
        if left:
            raise CannotEdit(f"no controller has a {what} for {next(iter(left))!r}")

    def _assign(
        self, controller: ArticulationController, what: str, left: dict[str, float]
    ) -> None:
        """Values of the joints a controller owns; takes them out of `left`."""
        array = np.array(controller.gains()[what])
        mine = [(i, b.joint) for i, b in enumerate(controller.bindings) if b.joint in left]
        if not mine:
            return
        for i, joint in mine:
            array[i] = left[joint]
        for _, joint in mine:
            left.pop(joint, None)
        self.assign(controller, what, array)

    def assign(self, controller: ArticulationController, what: str, value: object) -> None:
        """Give a controller's property another value; what was written for it comes back."""
        prop = controller.property_named(what)
        if controller.is_authored(what):
            before = controller.authored(what)
            self._undo.append(lambda: prop.assign(controller, before))
        else:
            self._undo.append(lambda: controller.unset(what))
        prop.assign(controller, value)

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
        fields = (model.actuator_ctrlrange, model.actuator_forcerange, model.jnt_actfrcrange)
        self._keep(*fields)
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
            if i in lowered or "forcerange" in ranges:
                model.actuator_forcerange[i] = np.array([-limit, limit]) / abs(binding.gear)
            if i not in lowered and "ctrlrange" in ranges:
                at = binding.ctrl_address
                model.actuator_ctrlrange[at] = np.array([-limit, limit]) / abs(binding.factor)
            if "actuatorfrcrange" in ranges:
                model.jnt_actfrcrange[binding.joint_id] = -limit, limit

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

    def add_mass(self, kilograms: float) -> None:
        """Load the robot's first body, its inertia in proportion."""
        model, prefix = self._world.model, self._robot.model_map.prefix
        body = next(i for i in range(1, model.nbody) if model.body(i).name.startswith(prefix))
        self._keep(model.body_mass, model.body_inertia)
        mass = float(model.body_mass[body])
        if mass > 0.0:
            model.body_inertia[body] *= (mass + kilograms) / mass
            model.body_mass[body] += kilograms
            self._settle_constants()

    def scale_strength(self, factor: float) -> None:
        """Multiply kp and kv of everything that has them."""
        from mjrig.sim2sim.plant_of import plant_of

        plant = plant_of(self._world, self._robot)
        for what in ("kp", "kv"):
            gains = plant.joints.get(what, {})
            if gains:
                with suppress(CannotEdit):
                    self.set_joints(what, {j: factor * v for j, v in gains.items()})

    def _keep(self, *fields: Any) -> None:
        for field in fields:
            self._undo.append(partial(field.__setitem__, ..., field.copy()))
