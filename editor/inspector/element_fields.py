"""PageField: one parameter of joints or actuators, as a row of their page shows and sets it.

`PatternEdits` sets values by name pattern under one key of an actor, name by name. No imgui.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mjrig.core.model.model_source import is_binary
from mjrig.core.names import literal
from mjrig.core.pattern_program import pattern_budget
from mjrig.core.patterns import Slots
from mjrig.core.properties.has_properties import HasProperties
from mjrig.editor.edits.edits import UNSET
from mjrig.editor.session.panel_edits import PanelEdits
from mjrig.editor.session.state import EditorState
from mjrig.editor.text import tr

# Pattern edits ------------------------------------------------------------------------------------


#: One number, or several; None: there is no such limit.
Value = float | tuple[float, ...] | None


class PatternEdits:
    """The entries of `dynamics` or `native_gains` of one actor.

    Args:
        state: state of the editor.
        edits: what edits go through; a drag is one.
        actor: whose they are.
        key: the property of the actor that has them.
    """

    def __init__(self, state: EditorState, edits: PanelEdits, actor: str, key: str) -> None:
        self.state, self.edits, self.actor, self.key = state, edits, actor, key

    def path(self, name: str) -> str:
        """The path of one of the properties."""
        return f"{self.actor}.{self.key}.{name}"

    def why_not(self) -> str:
        """Why the scene cannot have entries; empty: it can."""
        reason = self.state.why_not_edited(self.actor)
        if reason:
            return reason
        if is_binary(self.state.scene[self.actor]):
            return tr("an .mjb is already compiled; edit the model that it was made from")
        return ""

    # What is written ----------------------------------------------------------------------------

    def _holder(self) -> HasProperties | None:
        if self.state.why_not_edited(self.actor):
            return None
        found: HasProperties | None = getattr(self.state.scene[self.actor], self.key)
        return found

    def _authored(self, name: str) -> Mapping[str, Any]:
        holder = self._holder()
        authored = holder.authored(name) if holder is not None else None
        return authored if isinstance(authored, Mapping) else {}

    def held(self, name: str, target: str) -> Value:
        """The value that a drag will put in force; None: there is no drag of it."""
        held = self.edits.held(self.path(name))
        written = held.get(literal(target)) if isinstance(held, Mapping) else None
        return None if written is None else as_value(written)

    @pattern_budget()
    def pattern(self, name: str, target: str, slots: Slots) -> str | None:
        """The pattern that sets the value of a slot; None: none does."""
        place = slots.names.index(target)
        return next((p for p in self._authored(name) if place in slots.match(p)), None)

    def written(self, name: str, pattern: str) -> Value:
        """The value of a pattern."""
        return as_value(getattr(self._holder(), name)[pattern])

    # Edits --------------------------------------------------------------------------------------

    def set(
        self,
        name: str,
        targets: Sequence[str],
        value: Value,
        slots: Slots,
        *,
        instead_of: str = "",
    ) -> None:
        """Give slots a value, each under its own name; patterns keep what they say of others.

        Args:
            name: the property.
            targets: the names of the slots.
            value: what they get.
            slots: all that a pattern may match.
            instead_of: another property whose entries of these slots go.
        """
        written = list(value) if isinstance(value, tuple) else value
        new = {literal(target): written for target in targets}
        rest = self._without(name, targets, slots)
        # What was there keeps its place in the file.
        order = dict.fromkeys([*(p for p in self._authored(name) if p in new or p in rest), *rest])
        values: dict[str, object] = {
            self.path(name): {p: new.get(p, rest.get(p)) for p in order} | new
        }
        if instead_of:
            values[self.path(instead_of)] = self._without(instead_of, targets, slots) or UNSET
        self.edits.drag(values)

    def touch(self, *names: str) -> None:
        """The widget of a drag that sets these is still held."""
        self.edits.touch(dict.fromkeys(map(self.path, names)))

    def reset(self, name: str, label: str, targets: Sequence[str], slots: Slots) -> None:
        """Back to the model's value; what a pattern says of others stays."""
        left = self._without(name, targets, slots)
        holder = self._holder()
        others = set(holder.authored_values) - {name} if holder is not None else set()
        who = targets[0] if len(targets) == 1 else str(len(targets))
        path = self.path(name) if left or others else f"{self.actor}.{self.key}"
        self.edits.put(
            {path: left or UNSET},
            tr("Reset {label} of {actor}.{who}", label=label, actor=self.actor, who=who),
        )

    def _without(self, name: str, targets: Sequence[str], slots: Slots) -> dict[str, Any]:
        taken = [slots.names.index(target) for target in targets]
        return slots.without(self._authored(name), taken)


def as_value(written: Any) -> Value:
    """A value as it is written, as numbers."""
    if isinstance(written, list | tuple):
        return tuple(float(number) for number in written)
    return float(written)


# Page field ---------------------------------------------------------------------------------------


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
