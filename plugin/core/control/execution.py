"""Execution modes: which one runs a controller; by default the fastest bit-identical one."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import mujoco

from mjrig.core.errors import ExecutionError
from mjrig.core.names import suggestion
from mjrig.core.properties.component import ActorComponent
from mjrig.core.scene.mujoco_options import Actuation

EXECUTIONS = ("auto", "python", "native", "compiled")
_IMPLICIT = ("implicit", "implicitfast", "discrete")
_INTEGRATORS = ("Euler", "RK4", "implicit", "implicitfast", "discrete")
_AT_EVERY_STAGE = "MuJoCo would evaluate the law at every stage"
_FORBIDDEN = {
    mujoco.mjtDisableBit.mjDSBL_ACTUATION: (
        "the flag actuation is disabled, and with it the memory of MuJoCo's actuators"
    ),
    mujoco.mjtDisableBit.mjDSBL_AUTORESET: (
        "the flag autoreset is disabled: after a divergence MuJoCo would report no effort"
    ),
}
_log = logging.getLogger("mjrig")


class Support(NamedTuple):
    """Whether a mode can run a controller, why (not), and whether bit-identical to python."""

    available: bool
    reason: str
    exact: bool = True


@dataclass(frozen=True)
class Execution:
    """The execution mode of one controller, and the reason.

    Attributes:
        name: of the mode.
        reason: why that was chosen.
        awaits_native: whether a world built when MuJoCo can run the law would give other results.
    """

    name: str
    reason: str
    awaits_native: bool = False

    def __str__(self) -> str:
        return self.name


def check_request(requested: str) -> None:
    """Refuse an unknown execution mode.

    Raises:
        ExecutionError: it is unknown.
    """
    if requested not in EXECUTIONS:
        hint = suggestion(requested, EXECUTIONS)
        raise ExecutionError(f"unknown execution mode {requested!r}; {hint}")


def why_not_lowered_here(options: Any, actuation: Actuation) -> str:
    """Why these options forbid lowering; empty if they do not."""
    for flag, reason in _FORBIDDEN.items():
        if int(options.disableflags) & int(flag):
            return reason
    integrator = integrator_name(options)
    if integrator == "Euler":
        return ""
    if integrator in _IMPLICIT:
        if actuation is Actuation.IMPLICIT:
            return ""
        return (
            f"under {integrator} MuJoCo would integrate the gains implicitly; "
            "set sim: {actuation: implicit} to allow that"
        )
    return f"under {integrator} {_AT_EVERY_STAGE}, not once per step"


def choose(
    requested: str,
    label: str,
    supports: Mapping[str, Support],
    not_here: str,
    implicit: bool = False,
) -> Execution:
    """Choose the execution mode of one controller.

    Args:
        requested: the mode requested for the world.
        label: the controller, for messages.
        supports: the modes that can run it.
        not_here: why nothing is lowered in this model; empty if that is possible.
        implicit: whether a lowered gain would be integrated implicitly.

    Raises:
        ExecutionError: the requested mode cannot run it.
    """
    if not supports["python"].available:
        return _only_native(requested, label, supports, not_here)
    if requested == "native":
        native = supports["native"]
        reason = not_here if native.available else native.reason
        if reason:
            raise ExecutionError(f"{label} cannot run natively: {reason}")
    if requested == "compiled" and not supports["compiled"].available:
        reason = supports["compiled"].reason
        _log.warning("%s runs in python: %s", label, reason)
        return Execution("python", f"not compiled: {reason}")
    if requested != "auto":
        return Execution(requested, "requested")
    return _fastest(supports, not_here, implicit)


def _fastest(supports: Mapping[str, Support], not_here: str, implicit: bool) -> Execution:
    """The fastest execution mode that is bit-identical to python."""
    native, compiled = supports["native"], supports["compiled"]
    lowerable = native.available and native.exact
    if lowerable and not not_here:
        same = "bit-identical to MuJoCo's own computation"
        return Execution("native", "the scene sets actuation: implicit" if implicit else same)
    why_not = not_here if lowerable else native.reason
    if native.available and not native.exact:
        why_not = "MuJoCo's form of it differs in the last bits"
    awaits_native = implicit and not not_here
    if compiled.available:
        return Execution("compiled", f"not native: {why_not}", awaits_native)
    reason = f"not native: {why_not}; not compiled: {compiled.reason}"
    return Execution("python", reason, awaits_native)


def _only_native(
    requested: str, label: str, supports: Mapping[str, Support], not_here: str
) -> Execution:
    """The execution mode of a law that only MuJoCo can run, whatever was requested."""
    reason = supports["python"].reason
    if requested == "python":
        raise ExecutionError(f"{label} cannot run in python: {reason}")
    # Evaluating the law at every stage is intended here; integrating a gain implicitly is not.
    why_not = "" if _AT_EVERY_STAGE in not_here else not_here
    if not supports["native"].available:
        why_not = supports["native"].reason
    if why_not:
        raise ExecutionError(f"{label} requires native execution ({reason}), but {why_not}")
    return Execution("native", reason)


def is_implicit(options: Any) -> bool:
    """Whether the integrator uses the derivatives of actuator forces."""
    return integrator_name(options) in _IMPLICIT


def integrator_name(options: Any) -> str:
    """The integrator by its MJCF name, in the options of a model or a spec."""
    return _INTEGRATORS[int(options.integrator)]


def is_rk4(model: Any) -> bool:
    """Whether a step has four stages."""
    return int(model.opt.integrator) == int(mujoco.mjtIntegrator.mjINT_RK4)


class PlantComponent(ActorComponent):
    """Computes physics before every step and commands nothing.

    It stays where components that command are left out, as in tests of gains.
    """

    _execution: Execution

    def prepare(self) -> None:
        self._execution = Execution("python", "the default")

    @property
    def execution(self) -> Execution:
        """Its execution mode, and why that was chosen."""
        return self._execution

    def supports(self) -> dict[str, Support]:
        """The execution modes that can run it, with reasons."""
        no = Support(False, f"{type(self).__name__} is written in Python")
        return {"python": Support(True, "the reference"), "compiled": no, "native": no}

    def take_forces(self) -> None:
        """Hook: read the forces of the last step, before the next one replaces them.

        Called where a step has two stages: `before_controls` comes after the first of them then.
        """

    def run_as(self, execution: Execution) -> None:
        """Hook: switch to this execution mode."""
        self._execution = execution
