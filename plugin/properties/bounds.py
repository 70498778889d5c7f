"""Parsing and formatting of numbers, and the ranges they must be in."""

import math
import re

import numpy as np

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
