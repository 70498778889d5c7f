"""Overrides: what a user knows better than the files of an import, or than what is guessed."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mjrig.cli.command_options import Options, TextOption
from mjrig.core.errors import SceneError, option


class ReplacementOptions(Options):
    """Options of `mjrig import` and fields of the editor's dialog, as texts; empty: not given."""

    heading = "instead of what the files say, or what is guessed"

    robot = TextOption(
        "", "robot the model is; names of folders and files then decide nothing", "NAME"
    )
    joints = TextOption("", "joints the policy moves, in its order", "A,B,…")
    scale = TextOption("", "action scale: one number, or one per joint", "X[,X…]")
    default = TextOption("", "default pose: a keyframe, or one number per joint", "NAME|X,X…")
    height = TextOption("", "initial base height [m] (of the files, or standing on its feet)", "M")
    keyframe = TextOption("", "keyframe a run starts in; none: the model's own pose", "NAME|none")
    order = TextOption(
        "", "joint order of an Isaac Lab run that no file names", "breadth|sorted|depth"
    )
    actuators = TextOption("", "what actuators of unknown classes are taken for", "dc|pd|implicit")
    rate = TextOption("", "ticks of the policy per second [Hz]", "HZ")


#: The options by name.
FLAGS = {o.name: o for o in ReplacementOptions.declared() if o.owner is ReplacementOptions}
#: Flags whose text is taken as it is.
_WORDS = ("robot", "keyframe", "order", "actuators")


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
        stated = {flag: text.strip() for flag, text in texts.items() if text and text.strip()}
        found: dict[str, Any] = {key: stated[key] for key in _WORDS if key in stated}
        if "joints" in stated:
            found["joints"] = tuple(n.strip() for n in stated["joints"].split(",") if n.strip())
        if "scale" in stated:
            found["scale"] = _numbers("scale", stated["scale"])
        if "default" in stated:
            text = stated["default"]
            named = not text.lstrip("+-.").replace("inf", "")[:1].isdigit()
            found["default"] = text if named else _numbers("default", text)
        for flag in ("height", "rate"):
            if flag in stated:
                (found[flag],) = _numbers(flag, stated[flag], most=1)
        if found.get("rate", 1.0) <= 0.0:
            raise SceneError(option("rate") + f" must be > 0 Hz, got {stated['rate']}")
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
