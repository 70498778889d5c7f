"""Overrides: what a user knows better than the files of an import, or than what is guessed."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mjrig.components.importers.sources.flags import FLAGS
from mjrig.components.importers.sources.policy_description import Begin, FoundPolicy, ValueOrder
from mjrig.components.importers.sources.robot import Robot
from mjrig.core.errors import SceneError, option
from mjrig.core.names import suggestion

#: Flags whose text is taken as it is.
_WORDS = ("robot", "keyframe", "order", "actuators")
#: As a keyframe: the model's own pose.
NONE = "none"


@dataclass(frozen=True, kw_only=True)
class Overrides:
    """Values that replace those of the files; the fields are as in `FLAGS`.

    `default` is the name of a keyframe, or numbers in the policy's order.
    """

    robot: str = ""
    joints: tuple[str, ...] = ()
    scale: tuple[float, ...] = ()
    default: str | tuple[float, ...] = ()
    height: float | None = None
    keyframe: str = ""
    order: str = ""
    actuators: str = ""
    rate: float | None = None

    @classmethod
    def parse(cls, texts: Mapping[str, str | None]) -> "Overrides":
        """From the texts of a command line or a dialog; empty ones say nothing.

        Raises:
            SceneError: a text is not what its flag takes.
        """
        said = {flag: text.strip() for flag, text in texts.items() if text and text.strip()}
        found: dict[str, Any] = {key: said[key] for key in _WORDS if key in said}
        if "joints" in said:
            found["joints"] = tuple(n.strip() for n in said["joints"].split(",") if n.strip())
        if "scale" in said:
            found["scale"] = _numbers("scale", said["scale"])
        if "default" in said:
            text = said["default"]
            named = not text.lstrip("+-.").replace("inf", "")[:1].isdigit()
            found["default"] = text if named else _numbers("default", text)
        for flag in ("height", "rate"):
            if flag in said:
                (found[flag],) = _numbers(flag, said[flag], most=1)
        if found.get("rate", 1.0) <= 0.0:
            raise SceneError(option("rate") + f" must be > 0 Hz, got {said['rate']}")
        return cls(**found)


def _numbers(flag: str, text: str, most: int | None = None) -> tuple[float, ...]:
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        values = ()
    if not values or not all(map(math.isfinite, values)):
        form = f" takes {FLAGS[flag].form}, the {FLAGS[flag].doc}"
        raise SceneError(option(flag) + f"{form}; got {text!r}")
    if most is not None and len(values) > most:
        raise SceneError(option(flag) + f" takes one number, got {text!r}")
    return values


def overridden(found: FoundPolicy, robot: Robot, said: Overrides) -> FoundPolicy:
    """The policy with what the user said; notes say what was replaced.

    Raises:
        SceneError: a list of the wrong length, or a keyframe the model does not have.
    """
    changes: dict[str, Any] = {}
    notes = []
    if said.joints:
        if len(said.joints) != found.count:
            raise SceneError(
                option("joints") + f" has {len(said.joints)} names, the policy {found.count}"
            )
        changes |= {"order": ValueOrder.NAMES, "names": said.joints, "motors": ()}
        notes.append("joints are those of --joints")
    if said.scale:
        changes["action"] = {**found.action, "scale": _each("scale", said.scale, found.count)}
        notes.append("the action scale is that of --scale")
    if said.default:
        changes |= _default(found, robot, said)
        notes.append("the default pose is that of --default")
    if said.keyframe:
        changes |= _keyframe(robot, said.keyframe)
        notes.append("the start is that of --keyframe")
    if said.rate is not None:
        changes |= _rate(found, said.rate)
        notes.append("the rate is that of --rate")
    if not changes:
        return found
    return replace(found, **changes, notes=(*found.notes, *notes))


def _each(flag: str, values: Sequence[float], count: int) -> list[float]:
    if len(values) not in (1, count):
        raise SceneError(option(flag) + f" has {len(values)} values, needs 1 or {count}")
    return [*values] * count if len(values) == 1 else [*values]


def _default(found: FoundPolicy, robot: Robot, said: Overrides) -> dict[str, Any]:
    """The default pose; an offset that was the old one follows it."""
    if isinstance(said.default, str):
        pose = robot.keyframe_pose(_known(robot, "default", said.default))
        joints = said.joints or found.names or _places(found, robot)
        lacking = [j for j in joints if j not in pose]
        if lacking:
            raise SceneError(
                option("default", said.default) + f": the keyframe has no joint {lacking[0]!r}"
            )
        values = [pose[j] for j in joints]
    else:
        values = _each("default", said.default, found.count)
    offset = found.action.get("offset")
    action = dict(found.action)
    if offset is not None and not isinstance(offset, str) and [*offset] == [*found.default]:
        action["offset"] = values
    if said.scale:
        action["scale"] = _each("scale", said.scale, found.count)
    return {"default": values, "action": action}


def _places(found: FoundPolicy, robot: Robot) -> list[str]:
    """The joints by place, as matching finds them."""
    motors = robot.joints if found.order is ValueOrder.INDEX else robot.motors
    places = found.motors or range(found.count)
    return [motors[i] for i in places if i < len(motors)]


def _keyframe(robot: Robot, name: str) -> dict[str, Any]:
    if name == NONE:
        return {"begin": Begin.RESET, "keyframe": "", "base": None}
    return {"begin": Begin.KEYFRAME, "keyframe": _known(robot, "keyframe", name), "base": None}


def _known(robot: Robot, flag: str, name: str) -> str:
    names = robot.articulation.keyframes
    if name not in names:
        hint = suggestion(name, names) if names else "the model has none"
        raise SceneError(option(flag, name) + f": there is no such keyframe; {hint}")
    return name


def _rate(found: FoundPolicy, rate: float) -> dict[str, Any]:
    """Another tick; a timestep that does not divide it is no longer the policy's."""
    tick = 1.0 / rate
    timestep = found.timestep
    if timestep is not None and abs(tick / timestep - round(tick / timestep)) > 1e-6:
        timestep = None
    return {"tick": tick, "timestep": timestep}
