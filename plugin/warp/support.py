"""What MuJoCo Warp cannot run, found in a world with native execution before anything is run."""

from collections.abc import Iterator
from typing import Any

import mujoco
import numpy as np

from mjrig.control.execution import integrator_name
from mjrig.names import listed
from mjrig.scene.sim_options import FLAGS
from mjrig.sim.world import World
from mjrig.warp.affine_servos import turns_without_end

_SO3 = int(mujoco.mjtGain.mjGAIN_SO3)
_PID = int(mujoco.mjtGain.mjGAIN_PID)
#: Flags that it does not have, when they are not as MuJoCo has them by default.
_FLAGS = ("override", "fwdinv", "diagexact", "ipc", "speculative", "midphase", "autoreset")


def why_not(world: World) -> str:
    """The first reason why MuJoCo Warp cannot run a world, and what to do; empty: it can.

    Its controllers are lowered already: what runs in Python is refused by a batch.
    """
    return next(iter([*_controllers(world), *_actuators(world.model), *_options(world.model)]), "")


def _controllers(world: World) -> Iterator[str]:
    for robot in world.articulations.values():
        for controller in robot.controllers:
            lowered = controller.lowered
            if lowered is not None and (lowered.activations >= 0).any():
                yield (
                    f"{controller.label} integrates its error, and MuJoCo Warp has no actuator "
                    "that does; use a PDController"
                )


def _actuators(model: Any) -> Iterator[str]:
    for i in range(int(model.nactuator)):
        name, gain = model.actuator(i).name, int(model.actuator_gaintype[i])
        if int(model.actuator_plugin[i]) >= 0:
            yield f"the actuator {name!r} is a plugin; replace it by an actuator of MuJoCo"
        elif gain == _SO3:
            yield f"the actuator {name!r} is an orientation servo; use one actuator per axis"
        elif gain == _PID and int(model.actuator_actadr[i]) >= 0:
            yield (
                f"the actuator {name!r} is a pid with an integral or a slew limit; "
                "leave out its ki and slewmax"
            )
        elif gain == _PID and turns_without_end(model, i):
            yield (
                f"the actuator {name!r} turns without end, and MuJoCo Warp would not take its "
                "position error to the nearest turn; leave out its position input"
            )


def _options(model: Any) -> Iterator[str]:
    options = model.opt
    if int(options.solver) == int(mujoco.mjtSolver.mjSOL_PGS):
        yield "the solver is PGS; set sim: {solver: Newton} or CG"
    groups = np.asarray(model.actuator_group)
    switched_off = np.isin(groups, [g for g in range(31) if int(options.disableactuator) >> g & 1])
    if switched_off.any():
        yield (
            f"the actuator group {groups[switched_off][0]} is switched off by "
            "actuatorgroupdisable; remove its actuators instead"
        )
    if int(options.noslip_iterations) and integrator_name(options) == "discrete":
        yield "noslip_iterations and the integrator discrete do not go together there; use one"
    for plugged, what in (("sensor_plugin", "sensor"), ("body_plugin", "body")):
        found = np.flatnonzero(np.asarray(getattr(model, plugged)) >= 0)
        if len(found):
            names = [getattr(model, what)(int(i)).name for i in found]
            yield f"plugins act on {listed(names)}; remove them"
    if (np.asarray(model.geom_plugin) >= 0).any():
        yield "a geom is a plugin (a signed distance field); use a mesh"
    for name in _FLAGS:
        field, bit = FLAGS[name]
        if int(getattr(options, field)) & bit:
            word = field.removesuffix("flags")
            yield f"the flag {name} is set to {word}; leave it as MuJoCo has it"
