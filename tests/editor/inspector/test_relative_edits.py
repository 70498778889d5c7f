"""Relative edits of several numbers: those at a bound stay there, and that is shown."""

import math
from types import SimpleNamespace

import pytest

from mjrig.core.properties.declaration import Bounds
from mjrig.editor.inspector import number_widgets


@pytest.mark.parametrize(
    ("new", "moved", "notes"),
    [
        (4.0, [4.0, 6.0, 2.5], []),
        (0.0, [0.0, 2.0, 0.0], ["1 of 3 values stop at 0"]),
        (17.0, [17.0, 18.0, 15.5], ["1 of 3 values stop at 18"]),
    ],
)
def test_values_that_stop_at_a_bound_are_counted(
    monkeypatch: pytest.MonkeyPatch, new: float, moved: list[float], notes: list[str]
) -> None:
    shown: list[str] = []
    monkeypatch.setattr(number_widgets.number_validation, "note", shown.append)
    monkeypatch.setattr(number_widgets.imgui, "get_io", lambda: SimpleNamespace(key_alt=True))
    scale = number_widgets.Scale(Bounds("", 0.0, 18.0, None, None))
    assert number_widgets._all_values([2.0, 4.0, 0.5], new, scale) == moved
    assert shown == notes


def test_without_alt_all_have_the_new_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(number_widgets.imgui, "get_io", lambda: SimpleNamespace(key_alt=False))
    scale = number_widgets.Scale(Bounds("", -math.inf, math.inf, None, None))
    assert number_widgets._all_values([2.0, 4.0], 7.0, scale) == [7.0, 7.0]
