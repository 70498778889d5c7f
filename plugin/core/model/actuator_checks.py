"""Checks of authored actuators that MuJoCo would refuse late, or accept and run wrongly."""

import math
from collections.abc import Iterator
from typing import Any

import mujoco

from mjrig.core.errors import PropertyError
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.scene.actuator import Actuator, Bias, Dyn, Gain, Problem

_CALLBACKS = {"dyntype": "act_dyn", "gaintype": "act_gain", "biastype": "act_bias"}


def check(actuator: Actuator) -> None:
    """Refuse an actuator that cannot be built as it is described.

    Raises:
        PropertyError: about the property that is wrong.
    """
    for name, problem in _problems(actuator):
        raise actuator.refusal(name, problem)


def check_delay(actuator: Actuator, timestep: float) -> None:
    """Refuse a delay that its buffer cannot hold.

    Raises:
        PropertyError: `nsample` is too small.
    """
    _check_buffer(actuator, (), actuator.delay, actuator.nsample, timestep)
    for i, sensor in enumerate(actuator.sensors):
        _check_buffer(sensor, ("sensors", i), sensor.delay, sensor.nsample, timestep)


def _check_buffer(
    thing: HasProperties, where: tuple[Any, ...], delay: float, nsample: int, timestep: float
) -> None:
    if nsample * timestep >= delay * (1.0 - 1e-9):
        return
    name = "nsample" if thing.is_authored("nsample") else "delay"
    raise PropertyError(
        f"{thing.label}.{name}: {nsample} samples of {timestep:g} s do not cover the delay "
        f"of {delay:g} s; nsample must be >= {math.ceil(delay / timestep * (1.0 - 1e-9))}",
        (*where, name),
    )


def _problems(actuator: Actuator) -> Iterator[Problem]:
    if not actuator.replaces:
        yield from _transmission(actuator)
    yield from _limits(actuator)
    yield from _law(actuator)
    yield from actuator.problems()


def _transmission(actuator: Actuator) -> Iterator[Problem]:
    given = actuator.given_targets()
    if not given:
        yield actuator.targets[0], f"give one of {', '.join(actuator.targets)}, or replaces"
    target = given[0]
    if target not in actuator.targets:
        allowed = " or a ".join(actuator.targets)
        yield target, f"{actuator.element} actuators act on a {allowed}, not on a {target}"
    if actuator.inparent and target != "joint":
        yield "inparent", f"needs a joint, not a {target}"
    crank = target == "cranksite"
    if crank and not actuator.slidersite:
        yield "slidersite", "must be given with cranksite"
    if crank and not actuator.cranklength > 0:
        yield "cranklength", f"must be > 0 m with cranksite, got {actuator.cranklength:g}"
    if not crank and actuator.slidersite:
        yield "slidersite", f"needs a cranksite, not a {target}"
    if not crank and actuator.cranklength:
        yield "cranklength", f"needs a cranksite, not a {target}; got {actuator.cranklength:g}"
    for name in ("damping", "armature"):
        value = actuator.__dict__[name]
        if (value.any() if name == "damping" else value) and target not in ("joint", "tendon"):
            yield name, f"needs a joint or tendon, not a {target}"


def _limits(actuator: Actuator) -> Iterator[Problem]:
    for kind in ("ctrl", "force", "act"):
        low, high = actuator.__dict__[f"{kind}range"]
        if actuator.__dict__[f"{kind}limited"] and not low < high:
            name = f"{kind}range" if actuator.is_authored(f"{kind}range") else f"{kind}limited"
            yield (
                name,
                f"{kind}limited is true: the range must be low < high, got {span(low, high)}",
            )
    if not has_activation(actuator):
        low, high = actuator.actrange
        if low or high:
            yield "actrange", f"there is no activation (dyntype is none); got {span(low, high)}"
        if actuator.actlimited:
            yield "actlimited", "there is no activation (dyntype is none)"
    if actuator.delay and not actuator.nsample:
        yield "delay", f"of {actuator.delay:g} s needs nsample, at least delay / timestep"


def _law(actuator: Actuator) -> Iterator[Problem]:
    for name, callback in _CALLBACKS.items():
        if actuator.__dict__[name] == "user" and getattr(mujoco, f"get_mjcb_{callback}")() is None:
            yield name, f"user needs a callback; register one with mujoco.set_mjcb_{callback}"
    if actuator.gaintype is Gain.PID and actuator.biastype is not Bias.AFFINE:
        yield "gaintype", f"pid needs biastype affine, not {actuator.biastype}"
    if actuator.plugin_config and not actuator.plugin:
        yield "plugin_config", "needs the plugin it is for"
    if actuator.plugin and not is_plugin(actuator.plugin):
        yield "plugin", f"MuJoCo has no plugin {actuator.plugin!r}"


def has_activation(actuator: Actuator) -> bool:
    """Whether it has an activation state."""
    if actuator.plugin or actuator.actdim > 0:
        return True
    if actuator.is_authored("dyntype"):
        return actuator.dyntype is not Dyn.NONE
    return actuator.dynamics != "none"


def is_plugin(name: str) -> bool:
    """Whether MuJoCo has an engine plugin; only its parser can answer."""
    quoted = name.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    text = f'<mujoco><extension><plugin plugin="{quoted}"/></extension></mujoco>'
    try:
        mujoco.MjSpec.from_string(text)
    except ValueError:
        return False
    return True


def span(low: float, high: float) -> str:
    """A range as text."""
    return f"[{low:g}, {high:g}]"
