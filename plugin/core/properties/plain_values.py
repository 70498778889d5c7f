"""Plain values of scene files: parsing and formatting of numbers, their ranges, plain data."""

import math
import re
from collections.abc import Mapping

import numpy as np

from mjrig.core.files.paths import shortened

# Bounds -------------------------------------------------------------------------------------------
# Parsing and formatting of numbers, and the ranges they must be in.


# YAML 1.1 reads `1e-3` as text; the user means the number.
_NUMBER = re.compile(
    r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+]?\.?(inf|Inf|INF)|\.?(nan|NaN|NAN)"
)


def number(value: object) -> float | None:
    """A real number from a number or its text; None if it is neither (a bool is not)."""
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return float(re.sub(r"\.(?=[iInN])", "", value))  # YAML's .inf and .nan
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        return None
    try:
        return float(value) if np.isrealobj(value) else None
    except OverflowError:  # an integer beyond any float
        return None


def plain(value: object) -> object:
    """A number as plain Python data, an int where it was written as one."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, int) else number(value)


def digits(value: float) -> str:
    """A number with all its digits: a refused value must not print like the limit."""
    return repr(float(value)).removesuffix(".0")


class Bounds:
    """A hard range (refused outside) and a soft one (the slider's extent)."""

    def __init__(
        self,
        unit: str,
        low: float,
        high: float,
        soft_low: float | None,
        soft_high: float | None,
        *,
        above: bool = False,
    ) -> None:
        self.unit = f" {unit}" if unit else ""
        self.low, self.high, self.above = low, high, above
        self.soft_low = low if soft_low is None else soft_low
        self.soft_high = high if soft_high is None else soft_high

    def problem(self, value: float) -> str | None:
        """Why a value is refused, or None."""
        if math.isnan(value):
            return "must be a number, got nan"
        if value < self.low or (self.above and value == self.low):
            return f"must be {self.low_text()}, got {digits(value)}"
        if value > self.high:
            return f"must be <= {digits(self.high)}{self.unit}, got {digits(value)}"
        return None

    def declaration_problem(self) -> str:
        """Why no value could be in the range, or the slider could not show it; or empty."""
        is_open = self.above and self.low == self.high
        if math.isnan(self.low) or math.isnan(self.high) or self.low > self.high or is_open:
            return f"no number is {self.text()}"
        if self.soft_low > self.soft_high:
            return f"soft_min {digits(self.soft_low)} is above soft_max {digits(self.soft_high)}"
        return ""

    def low_text(self) -> str:
        """The lower bound in words."""
        return f"{'>' if self.above else '>='} {digits(self.low)}{self.unit}"

    def text(self) -> str:
        """The range in words; empty where there is none."""
        parts = [self.low_text()] if self.low > -math.inf else []
        parts += [f"<= {digits(self.high)}{self.unit}"] if self.high < math.inf else []
        return ", ".join(parts)

    def json_schema(self) -> dict[str, object]:
        """The hard range in JSON Schema keywords; texts such as 1e-3 and inf are numbers too."""
        schema: dict[str, object] = {"type": "number"}
        if self.low > -math.inf:
            schema["exclusiveMinimum" if self.above else "minimum"] = self.low
        if self.high < math.inf:
            schema["maximum"] = self.high
        text = {"type": "string", "pattern": rf"^({_NUMBER.pattern})$"}
        return {"anyOf": [schema, text]}


# Plain values -------------------------------------------------------------------------------------
# Data that a scene file can hold, whatever Python made it of.


#: Levels of lists and mappings in one value: a file has at most 100, and the deepest table of a
#: scene (`actors[0].actuators[0].plugin_config`) is 6 deep.
MAX_DEPTH = 94
#: Digits of an integer: a file is read with at most 300.
MAX_DIGITS = 300


def plain_data(value: object, depth: int = 0) -> object:
    """A copy of plain data: arrays and tuples become lists, numbers of NumPy those of Python.

    Raises:
        ValueError: a file cannot hold it; the text completes "must be …".
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if value is None or isinstance(value, bool | float | str):
        return value
    if isinstance(value, int):
        if abs(value) >= 10**MAX_DIGITS:
            raise ValueError(f"a number of at most {MAX_DIGITS} digits")
        return value
    if depth >= MAX_DEPTH:
        raise ValueError(f"nested at most {MAX_DEPTH} deep")
    if isinstance(value, list | tuple):
        return [plain_data(item, depth + 1) for item in value]
    if not isinstance(value, Mapping):
        raise ValueError("plain data: text, numbers, lists and mappings")
    for key in value:
        if not isinstance(key, str):
            raise ValueError(f"a mapping with names as keys, not {key!r}")
    return {key: plain_data(item, depth + 1) for key, item in value.items()}


def shown(value: object) -> str:
    """A value in a message, however large."""
    try:
        return shortened(repr(value))
    except ValueError:  # Python does not print integers of thousands of digits
        return "a value with thousands of digits"
