"""A class that cannot work is refused when it is made or registered, not in the first step."""

import inspect
import math
from abc import ABC, ABCMeta
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

import pytest

import mjrig
from mjrig.components import Clamp, Law, MotorActuator, ObservationTerm, PDController, PIDController
from mjrig.components.bridges.bridge import Bridge
from mjrig.components.bridges.dds_bridge import DdsBridge
from mjrig.components.controllers.pipeline_controller import PipelineController
from mjrig.components.props.solids import SolidProp
from mjrig.components.props.terrain import TerrainTile
from mjrig.core.control.policy import PolicyComponent
from mjrig.core.errors import DeclarationError, MjrigError, PropertyError
from mjrig.core.properties import registry
from mjrig.core.properties.hooks import check_signatures, is_replaceable, is_required
from mjrig.core.scene.actuator import Actuator
from mjrig.data.gym.scene_env import Reward
from mjrig.properties import (
    Bool,
    Choice,
    Float,
    HasProperties,
    Int,
    Nested,
    NestedList,
    Numbers,
    OptionalFloat,
    Patterns,
    PerActuator,
    Property,
    Samples,
    Text,
    Vector,
)
from mjrig.scene import Prop
from tests.campaign import Tally
from tests.wording import matches, mentions

BASES: tuple[type[Any], ...] = (
    mjrig.ActorComponent, mjrig.ArticulationController, mjrig.Component, Law, Clamp, Prop,
    ObservationTerm, Actuator, PDController, PIDController, MotorActuator,
)  # fmt: skip


#: Called only for a component that supports it.
OPTIONAL = {"native_form", "slopes", "answers", "follow", "command_space", "disturb", "equation"}


class Colour(StrEnum):
    RED = "red"


def refusal(name: str, base: type[Any], /, **members: Any) -> str:
    """The message when a class is made; empty: it was made."""
    try:
        type(name, (base,), members)
    except DeclarationError as error:
        return str(error)
    return ""


def subclasses(cls: type[Any]) -> Iterator[type[Any]]:
    for sub in cls.__subclasses__():
        yield sub
        yield from subclasses(sub)


@pytest.mark.parametrize("base", BASES)
def test_a_property_cannot_hide_a_member_of_its_bases(base: type[Any], tally: Tally) -> None:
    members = {n: getattr(base, n) for n in dir(base) if not n.startswith("_")}
    assert {"copy", "label", "assign", "to_data"} <= set(members)
    for name, member in members.items():
        message = refusal("Mine", base, **{name: Bool(False)})
        if isinstance(member, Property) or is_replaceable(member):
            continue
        if not message.startswith(f"Mine.{name}: the property would hide the "):
            tally.found(f"{base.__name__}.{name}: {message or 'was hidden'}")


def test_the_message_names_class_property_and_member() -> None:
    message = refusal("Mine", mjrig.ArticulationController, gains=Float(3.0))
    assert matches(message, "Mine.gains: the property would hide … ArticulationController.gains; …")
    assert matches(refusal("Mine", Law, type=Text("")), "Mine.type: 'type' names the class in …")
    assert matches(
        refusal("Mine", Law, _gain=Float(0.0)), "Mine._gain: a property's name must … '_'"
    )


@pytest.mark.parametrize("value", [50.0, property(lambda self: 50.0), lambda self: 50.0])
def test_a_plain_value_cannot_hide_a_property(value: object) -> None:
    message = refusal("Mine", PDController, kp=value)
    assert message.startswith("Mine.kp would hide the property ")
    assert mentions(message, "declare it again with … = PerActuator(…)")
    assert not refusal("Mine", PDController, enabled=Bool(False))


def wrong_declarations() -> Iterator[Property[Any]]:
    """Declarations of every kind whose own default or range does not fit."""
    values: tuple[Any, ...] = (None, "text", True, [], {}, math.nan, 1.5, object())
    for kind, right in (
        (Bool, {True}), (Float, {1.5}), (Int, set()), (Text, {"text"}), (OptionalFloat, {None, 1.5})
    ):  # fmt: skip
        for value in values:
            if not any(value is one or (value == one and value is not True) for one in right):
                yield kind(value)  # type: ignore[arg-type]
    for number in (Float, Int, OptionalFloat):
        yield number(-1, min=0)
        yield number(2, max=1)
        yield number(1, min=1, above=True)
        yield number(0, min=1, max=-1)
        yield number(0, min=math.nan)
        yield number(0, soft_min=2, soft_max=1)
    yield Vector([0.0, -1.0], min=0.0)
    yield Vector([math.inf])
    yield Vector([0.0], min=1.0, max=0.0)
    yield Samples([1.0, 3.0], max=2.0)
    yield Numbers(math.nan)
    yield PerActuator(constant=-1.0, min=0.0)
    yield PerActuator(constant=0.5, whole=True)
    yield PerActuator(constant=math.inf, finite=True)
    yield PerActuator(min=1.0, max=0.0, constant=0.5)
    yield PerActuator(fallback="nothing")
    yield Patterns("hip")  # type: ignore[arg-type]
    yield Patterns(("(",))
    yield Choice("red")  # type: ignore[type-var]
    yield Nested(int)  # type: ignore[type-var]
    yield NestedList(Colour)  # type: ignore[type-var]
    yield NestedList(PDController, polymorphic=False, short="nothing")
    yield Float(1.0, unit=3)
    yield Float(1.0, doc=None)


def test_a_declaration_that_does_not_fit_itself_is_refused(tally: Tally) -> None:
    count = 0
    for prop in wrong_declarations():
        count += 1
        message = refusal("Mine", HasProperties, gain=prop)
        if not message.startswith("Mine.gain: "):
            parameters = {k: v for k, v in vars(prop).items() if k in ("default", "unit", "doc")}
            tally.found(f"{type(prop).__name__} {parameters}: {message or 'was made'}")
    assert count > 60
    assert matches(
        refusal("Mine", HasProperties, gain=Float(-1.0, min=0.0)),
        "Mine.gain: the default must be >= 0, … -1",
    )
    assert refusal("Mine", HasProperties, gain=Float(0.5, min=1.0, max=0.0)) == (
        "Mine.gain: no number is >= 1, <= 0"
    )


def test_declarations_that_fit_are_made() -> None:
    for prop in (
        Float(0.0, min=0.0), Float(1), Float(math.inf), Int(3, max=3), OptionalFloat(None, min=1.0),
        Text(""), Vector((1.0, 2.0)), Samples(()), Numbers([1.0, 2.0]), Patterns(()),
        PerActuator(constant=math.nan, min=0.0), Choice(Colour.RED), Bool(False),
    ):  # fmt: skip
        assert not refusal("Mine", HasProperties, gain=prop)


class Pair(Property[tuple[str, str]]):
    """A custom kind: written as text, kept as a tuple."""

    def accept(self, obj: Any, value: object) -> tuple[object, tuple[str, str]]:
        first, _, second = str(value).partition("-")
        if not second:
            raise self.error(obj, "must be two names")
        return value, (first, second)


def test_the_default_of_a_custom_kind_may_have_another_form_than_its_input() -> None:
    assert not refusal("Mine", HasProperties, pair=Pair(("a", "b")))


#: Base class → its required method, and a misspelt one.
MISSING: dict[type[Any], tuple[str, str]] = {
    mjrig.ArticulationController: (
        "compute_and_apply(self, model, data, source)",
        "compute_and_aply",
    ),
    PipelineController: ("make_law(self)", "makelaw"),
    Law: ("compute(self, q, qd, target_q, target_qd, feedforward, state, dt, out)", "computes"),
    Clamp: ("apply(self, effort, q, qd, out)", "aply"),
    Prop: ("fill(self, spec)", "fil"),
    SolidProp: ("shape(self, spec, geom)", "shapes"),
    TerrainTile: ("build(self, ground)", "buld"),
    ObservationTerm: ("connect(self, view)", "conect"),
    Actuator: ("shape(self, made)", "shap"),
    Reward: ("reward(self, world)", "rewards"),
    Bridge: ("start(self, stage)", "strt"),
    DdsBridge: ("make_wire(self)", "makewire"),
    PolicyComponent: ("the property 'ticks'", "tick"),
    Property: ("accept(self, obj, value)", "acept"),
}


@pytest.mark.parametrize("base", MISSING)
def test_a_missing_or_misspelt_method_is_refused_when_the_class_is_made(base: type[Any]) -> None:
    method, misspelt = MISSING[base]
    assert matches(refusal("Mine", base), f"Mine must implement {method}; list abc.ABC as …")
    wrong = {misspelt: lambda self, *rest: None}
    assert refusal("Mine", base, **wrong) == f"Mine must implement {method}; rename {misspelt!r}"


def _function(member: object) -> Any:
    return member.fget if isinstance(member, property) else member


def test_every_method_that_only_raises_is_a_required_one(tally: Tally) -> None:
    """A base class that is added cannot leave a bare NotImplementedError to the first call."""
    count = 0
    for component in registry.names():
        registry.get(component, HasProperties)  # imports it
    for cls in {*subclasses(HasProperties), *subclasses(Property), HasProperties, Property}:
        for name, member in vars(cls).items():
            function = _function(member)
            if name in OPTIONAL or not inspect.isfunction(function):
                continue
            if function.__code__.co_names == ("NotImplementedError",):
                count += 1
                if not any(is_required(_function(vars(b).get(name))) for b in cls.__mro__):
                    tally.found(f"{cls.__name__}.{name} is neither required nor implemented")
    assert count > 15


@pytest.mark.parametrize("base", [b for b in MISSING if b is not Property])
def test_a_base_class_for_others_may_lack_it_and_cannot_be_used(base: Any) -> None:
    method, _ = MISSING[base]
    bare: Any = ABCMeta("Bare", (base, ABC), {})
    text = f"Bare must implement {method}"
    for attempt in (bare, bare.blank, lambda: bare.from_data({})):
        with pytest.raises(PropertyError) as info:
            attempt()
        assert str(info.value) == text
    with pytest.raises(MjrigError) as refused:
        mjrig.register(bare)
    assert str(refused.value) == text


def test_another_way_to_implement_a_clamp_or_controller_counts() -> None:
    class Bounded(Clamp):
        def bounds(self, q: Any, qd: Any) -> Any:
            return -q, q

    class Stepping(mjrig.ArticulationController):
        def stepper(self, model: Any, data: Any) -> Any:
            return lambda: None

    assert Bounded() and Stepping()


@pytest.mark.parametrize(
    ("base", "method", "call", "fragment"),
    [
        (Law, "compute", lambda self, q, qd: None, "(self, q, qd) is called as compute(self"),
        (Clamp, "apply", lambda self, effort, out: None, "is called as apply(self, effort, q, qd"),
        (mjrig.ActorComponent, "before_controls", lambda self: None, "before_controls(self, time)"),
        (mjrig.ActorComponent, "reset", lambda self, why: None, "Mine.reset(self, why) is called"),
        (mjrig.ActorComponent, "restore", lambda: None, "is called as restore(self, memory)"),
    ],
)  # fmt: skip
def test_a_method_with_other_parameters_is_refused(
    base: Any, method: str, call: Any, fragment: str
) -> None:
    pair = {"memory": lambda self: None} if method == "restore" else {}
    assert fragment in refusal("Mine", base, **pair, **{method: call})
    assert not refusal("Mine", base, **pair, **{method: lambda *rest: None})


def test_private_names_of_properties_are_refused() -> None:
    private = {n for cls in (HasProperties, *BASES) for n in dir(cls) if n.startswith("_")}
    assert {"_properties", "_nesting", "_defaults", "_actions", "_assignable"} <= private
    for name in sorted(private - {"__module__", "__qualname__", "__doc__", "__slots__"}):
        text = refusal("Mine", mjrig.Component, **{name: Float(1.0)})
        assert "must not begin with '_'" in text, name


def test_a_value_in_the_place_of_a_method_is_refused() -> None:
    for base in BASES:
        methods = {n for n, m in inspect.getmembers(base, inspect.isfunction) if n[0] != "_"}
        assert methods
        for name in methods:
            for value in (None, 5, "text", [1.0]):
                with pytest.raises(DeclarationError) as info:
                    ABCMeta("Mine", (base, ABC), {name: value})
                text = f"Mine.{name} is {value!r} and must be a method, def {name}(self"
                assert text in str(info.value)


def test_memory_and_restore_come_together() -> None:
    def memory(self: Any) -> Any:
        return 1

    def restore(self: Any, memory: Any) -> None:
        pass

    for base in (mjrig.ActorComponent, PDController, PIDController):
        alone = refusal("Mine", base, memory=memory), refusal("Mine", base, restore=restore)
        assert "Mine implements memory without restore" in alone[0]
        assert "Mine implements restore without memory" in alone[1]
        assert not refusal("Mine", base, memory=memory, restore=restore)
        complete: Any = type("Complete", (base,), {"memory": memory, "restore": restore})
        assert not refusal("Mine", complete, memory=memory)
        half: Any = ABCMeta("Half", (base, ABC), {"memory": memory})
        assert "implements memory without restore" in refusal("Mine", half)
        assert not refusal("Mine", half, restore=restore)


BODIES = {
    "out = gain * q": False,
    "out = out + q": False,
    "pass": False,
    "return q": False,
    "x = q\n    if x is None:\n        out = q": False,
    "out[:] = q": True,
    "out[...] = q\n    return out": True,
    "out += q": True,
    "np.copyto(out, q)": True,
    "out.flat = q": True,
    "rows = out.reshape(1, -1)\n    rows[0] = q": True,
    "out = out.reshape(1, -1)\n    out[0] = q": True,
    "if q is None:\n        out = q\n    out[:] = q": True,
    "def write(): out[:] = q\n    write()": True,
    "raise ValueError('not yet')": True,
}


@pytest.mark.parametrize("body", BODIES)
def test_a_method_that_cannot_write_its_output_is_refused(body: str) -> None:
    for base, name, parameters in (
        (Law, "compute", "self, q, qd, target_q, target_qd, feedforward, state, dt, out"),
        (Clamp, "apply", "self, effort, q, qd, out"),
        (ObservationTerm, "measure", "self, out, q=None"),
    ):
        space: dict[str, Any] = {}
        exec(f"def method({parameters}):\n    {body}", space)
        members = {"connect": lambda self, view: 1} if base is ObservationTerm else {}
        text = refusal("Mine", base, **members, **{name: space["method"]})
        if BODIES[body]:
            assert not text
        else:
            assert mentions(text, f"Mine.{name} never writes to `out`; write …")


def test_methods_of_all_components_can_be_called_as_those_they_override() -> None:
    ours = [cls for cls in subclasses(HasProperties) if cls.__module__.startswith("mjrig.")]
    assert len(ours) > 60
    for cls in ours:
        check_signatures(cls)


def test_a_cell_that_is_run_again_registers_its_class_again() -> None:
    for value in (1.0, 2.0):

        @mjrig.register
        class Cell(mjrig.ArticulationController):
            k = Float(value)

            def compute_and_apply(self, model: Any, data: Any, source: Any) -> None: ...

        assert Cell().k == value
