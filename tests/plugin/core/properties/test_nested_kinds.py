"""Property kinds that hold components; and what all kinds have."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mjrig.components import PDController, TrotGait
from mjrig.core.errors import PropertyError
from mjrig.core.properties.component import ActorComponent, Component
from mjrig.core.properties.scalar_kinds import Float
from tests.plugin.core.properties.kinds import BAD, FIXED, Part, Thing, refusal
from tests.wording import matches


def test_a_list_of_a_family_keeps_its_order() -> None:
    data = [{"type": "TrotGait", "lift": 0.1}, {"type": "PDController"}]
    thing = Thing.from_data({"tools": data})
    assert [type(t) for t in thing.tools] == [TrotGait, PDController]
    assert thing.to_data() == {"tools": data}


def test_the_callers_mapping_is_left_alone() -> None:
    data: dict[str, object] = {"type": "PDController", "kp": [1, 2]}
    thing = Thing.from_data({"tool": data})
    data["kp"] = 0
    assert thing.to_data() == {"tool": {"type": "PDController", "kp": [1, 2]}}


def test_a_mapping_without_a_type_is_told_the_types() -> None:
    problem = refusal("tool", {"kp": 1})
    assert problem.startswith("needs a 'type', one of ")
    assert {"PDController", "PassthroughController", "TrotGait"} <= set(
        problem.removeprefix("needs a 'type', one of ").split(", ")
    )


def test_an_unknown_type_names_the_nearest_and_points_at_it() -> None:
    with pytest.raises(PropertyError) as caught:
        Thing.from_data({"tools": [{"type": "PDControler"}]})
    assert matches(
        str(caught.value),
        "Thing.tools[0]: there is no component … 'PDControler'; … 'PDController'?",
    )
    assert (caught.value.keys, caught.value.at) == (("tools", 0), ("type",))


def test_a_type_that_is_not_text_is_refused() -> None:
    assert refusal("tool", {"type": 3}).startswith("there is no component type '3'; available: ")


def test_an_instance_of_another_class_is_refused() -> None:
    assert refusal("tool", Part()) == "must be a mapping, got Part()"


def test_a_copy_needs_no_registered_type() -> None:
    class Homemade(ActorComponent):
        level = Float(1.0)

    thing = Thing(tools=[Homemade(level=2)])
    twin = thing.copy()
    assert isinstance(twin.tools[0], Homemade)
    assert twin.tools[0].level == 2.0
    assert twin.tools[0] is not thing.tools[0]


def test_a_component_says_its_type() -> None:
    class Homemade(Component):
        level = Float(1.0)

    data = Homemade(level=2).to_data()
    assert data == {"type": "Homemade", "level": 2}
    assert Homemade.from_data(data).level == 2.0
    assert repr(Homemade(level=2)) == "Homemade(level=2)"


def test_a_default_reads_in_words() -> None:
    assert {p.name: p.default_text() for p in Thing.properties()} == {
        "on": "True",
        "size": "1",
        "mass": "1",
        "free": "0",
        "share": "0.5",
        "delay": "none",
        "count": "3",
        "whole": "0",
        "name": "'thing'",
        "owns": "'.*'",
        "frame": "world",
        "table": "none",
        "anything": "none",
        "offset": "[0.0, 0.0, 1.0]",
        "curve": "[]",
        "piece": "none",
        "parts": "[]",
        "tool": "none",
        "tools": "[]",
    }


@FIXED
@given(BAD, st.floats(0.0, 10.0), st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=3))
def test_any_bad_value_changes_nothing(
    bad: tuple[str, object], size: float, offset: list[float]
) -> None:
    thing = Thing(name="before", piece={"width": 2})
    before = dict(vars(thing))
    with pytest.raises(PropertyError):
        thing.assign({"size": size, "offset": offset, "piece": {}, **dict([bad])})
    assert vars(thing) == before
    assert thing.piece is not None
    assert thing.piece.label == "Thing.piece"
