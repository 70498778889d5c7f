"""PageField: one parameter of joints or actuators, as a row of their page shows and sets it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mjrig.editor.elements.pattern_edits import PatternEdits, Value
from mjrig.editor.texts.texts import tr
from mjrig.names import Slots, literal


@dataclass(frozen=True)
class PageField:
    """A parameter of one or several joints or actuators of one actor."""

    edits: PatternEdits
    name: str
    label: str
    unit: str
    #: The names of those that have it.
    targets: tuple[str, ...]
    #: Their values in the running model.
    in_force: tuple[Value, ...]
    slots: Slots
    #: Why it cannot be edited; empty: it can.
    reason: str = ""
    #: Least value.
    low: float = -np.inf
    #: From the value to what is shown.
    factor: float = 1.0
    #: The value of a limit that is added.
    first: Value = 1.0
    #: Whether the first of two numbers is always 0.
    from_zero: bool = False
    #: Another property that says the same and has to go.
    instead_of: str = ""

    @property
    def path(self) -> str:
        """The path of its property."""
        return self.edits.path(self.name)

    @property
    def values(self) -> list[Value]:
        """The value of each, including one being dragged."""
        held = [self.edits.held(self.name, target) for target in self.targets]
        pairs = zip(held, self.in_force, strict=True)
        return [now if one is None else one for one, now in pairs]

    @property
    def is_mixed(self) -> bool:
        """Whether they differ."""
        first, *others = self.values
        return any(value != first for value in others)

    @property
    def set_here(self) -> list[str]:
        """Those whose value the scene sets."""
        if self.reason:
            return []
        return [t for t in self.targets if self.edits.pattern(self.name, t, self.slots) is not None]

    def origins(self) -> list[str]:
        """Where the values come from: `model`, `scene`, or `scene:` and a pattern."""
        pairs = zip(self.targets, self.in_force, strict=True)
        return list(dict.fromkeys(self._origin(target, now) for target, now in pairs))

    def _origin(self, target: str, now: Value) -> str:
        pattern = self.edits.pattern(self.name, target, self.slots) if not self.reason else None
        if pattern is None:
            return "model"
        if not _same(self.edits.written(self.name, pattern), now):
            return tr("running world")
        return "scene" if pattern == literal(target) else tr("scene: {pattern}", pattern=pattern)

    def set(self, value: Value) -> None:
        """Give all of them a value."""
        edits, instead = self.edits, self.instead_of
        edits.set(self.name, self.targets, value, self.slots, instead_of=instead)

    def reset(self) -> None:
        """Back to the model's values."""
        self.edits.reset(self.name, self.label, self.set_here, self.slots)

    def touch(self) -> None:
        """Its widget is held."""
        self.edits.touch(*filter(None, (self.name, self.instead_of)))


def _same(written: Value, now: Value) -> bool:
    """Whether two values are the same but for the rounding of a model in degrees."""
    ones, others = _numbers(written), _numbers(now)
    size = min(len(ones), len(others))
    return bool(np.allclose(ones[:size], others[:size], 1e-9))


def _numbers(value: Value) -> Sequence[float]:
    return value if isinstance(value, tuple) else [np.nan if value is None else value]
