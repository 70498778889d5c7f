"""Actions: methods reflected by name, called with plain data."""

from typing import Annotated

import pytest

from mjrig.components import PDController
from mjrig.core.errors import PropertyError
from mjrig.core.properties.actions import Action, Parameter, action, call_action
from mjrig.core.properties.has_properties import HasProperties
from tests.wording import matches


class Lamp(HasProperties):
    def prepare(self) -> None:
        self._calls: list[object] = []

    @action
    def light(self, colour: str, level: float = 1.0) -> str:
        """Switch it on.

        More about it.
        """
        self._calls.append((colour, level))
        return f"{colour} {level}"

    @action
    def off(self) -> None:
        """Switch it off."""
        self._calls.append("off")

    @action
    def fade(self, levels: Annotated[object, "one level per lamp"]) -> object:
        return levels

    @action
    def blink(self, times, fast: bool = False) -> object:  # type: ignore[no-untyped-def]
        return times, fast

    @action
    def repeat(self, count: int) -> int:
        return count

    def not_an_action(self) -> None:
        """Stays private."""


class Torch(Lamp):
    @action
    def off(self) -> None:
        """Cover it."""


def refusal(name: str, arguments: object = None) -> str:
    """The message of a refused call, after a look that nothing was called."""
    lamp = Lamp()
    with pytest.raises(PropertyError) as caught:
        call_action(lamp, name, arguments)
    assert lamp._calls == []
    return str(caught.value)


def test_only_marked_methods_are_actions_in_order() -> None:
    assert [a.name for a in Lamp.actions()] == ["light", "off", "fade", "blink", "repeat"]


def test_an_action_has_doc_and_parameters() -> None:
    assert Lamp.actions()[0] == Action(
        "light",
        "Switch it on.\n\nMore about it.",
        (Parameter("colour", "str", Parameter.REQUIRED), Parameter("level", "float", 1.0)),
    )


def test_a_signature_reads_as_it_would_be_written() -> None:
    assert [a.signature for a in Lamp.actions()] == [
        "light(colour: str, level: float = 1.0)",
        "off()",
        "fade(levels: one level per lamp)",
        "blink(times: value, fast: bool = False)",
        "repeat(count: int)",
    ]


def test_a_subclass_overrides_an_action_in_place() -> None:
    assert [(a.name, a.doc) for a in Torch.actions()][1] == ("off", "Cover it.")


def test_set_gains_is_an_action_of_the_pd_controller() -> None:
    assert [a.signature for a in PDController.actions()] == [
        "set_gains(kp: one value per actuator, kv: one value per actuator, "
        "torque_limits: one value per actuator)"
    ]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("red", "red 1.0"),
        (["red"], "red 1.0"),
        (["red", 0.5], "red 0.5"),
        ({"level": 2, "colour": "red"}, "red 2"),
    ],
)
def test_arguments_are_one_value_a_list_or_a_mapping(arguments: object, expected: str) -> None:
    assert call_action(Lamp(), "light", arguments) == expected


def test_no_arguments_are_needed_where_there_are_none() -> None:
    lamp = Lamp()
    call_action(lamp, "off", None)
    assert lamp._calls == ["off"]


def test_a_single_parameter_takes_a_list_whole() -> None:
    assert call_action(Lamp(), "fade", [1, 2]) == [1, 2]


def test_a_single_parameter_takes_a_mapping_whole() -> None:
    assert call_action(Lamp(), "fade", {"a": 1}) == {"a": 1}


def test_an_unknown_action_names_the_nearest() -> None:
    assert matches(refusal("ligth"), "Lamp has no action 'ligth'; did … 'light'?")


def test_a_method_that_is_not_marked_cannot_be_called() -> None:
    assert refusal("not_an_action") == (
        "Lamp has no action 'not_an_action'; has: light, off, fade, blink, repeat"
    )


def test_a_missing_argument_is_named() -> None:
    assert refusal("light", {"level": 1}) == (
        "Lamp.light(colour: str, level: float = 1.0): missing colour"
    )


def test_too_many_arguments_are_counted() -> None:
    assert refusal("light", ["red", 1, 2]) == (
        "Lamp.light(colour: str, level: float = 1.0) takes 2 arguments, got 3"
    )


def test_an_argument_where_none_is_taken_is_refused() -> None:
    assert refusal("off", 3) == "Lamp.off() takes 0 arguments, got 1"


def test_an_unknown_argument_names_the_nearest() -> None:
    assert matches(
        refusal("light", {"color": "red"}),
        "Lamp.light(colour: str, level: float = 1.0) has … 'color'; … 'colour'?",
    )


@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("light", 5, "light(colour: str, level: float = 1.0): colour … 5"),
        (
            "light",
            ["red", "dim"],
            "light(colour: str, level: float = 1.0): level … 'dim'",
        ),
        (
            "light",
            ["red", True],
            "light(colour: str, level: float = 1.0): level … True",
        ),
        ("repeat", 1.5, "repeat(count: int): count must be a … 1.5"),
        (
            "blink",
            [1, "yes"],
            "blink(times: value, fast: bool = False): fast … 'yes'",
        ),
    ],
)
def test_an_argument_of_a_plain_type_is_checked(name: str, arguments: object, problem: str) -> None:
    assert matches(refusal(name, arguments), f"Lamp.{problem}")


def test_set_gains_refuses_text_with_its_own_error() -> None:
    pd = PDController()
    before = dict(vars(pd))
    with pytest.raises(PropertyError) as caught:
        call_action(pd, "set_gains", ["stiff", 1, 1])
    assert matches(str(caught.value), "PDController.kp: must be a number … 'stiff'")
    assert vars(pd) == before
