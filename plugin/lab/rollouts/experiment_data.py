"""Experiments as plain data of JSON or YAML, and back."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from mjrig.core.errors import PropertyError
from mjrig.core.names import suggestion
from mjrig.lab.rollouts.experiment import Experiment, PlainScenario, Variation
from mjrig.lab.rollouts.scene_bundle import LocalScene


def experiment_data(experiment: Experiment) -> dict[str, Any]:
    """An experiment as lists, mappings, texts and numbers.

    Raises:
        PropertyError: its scene is a running world, which only this process has.
    """
    if not isinstance(experiment.scene, LocalScene):
        raise PropertyError(
            "an experiment in a running world has no file; use LocalScene.of(scene)"
        )
    data: dict[str, Any] = plain_data(experiment)
    data["scenario"] = {"kind": type(experiment.scenario).__name__, **data["scenario"]}
    return data


def read_experiment(data: Mapping[str, Any]) -> Experiment:
    """The experiment of such data.

    Raises:
        PropertyError: there is no scenario of that kind.
    """
    scenario = dict(data["scenario"])
    kind = scenario.pop("kind")
    kinds = {cls.__name__: cls for cls in PlainScenario.__subclasses__()}
    if kind not in kinds:
        raise PropertyError(f"unknown scenario {kind!r}; {suggestion(kind, kinds)}")
    rest = {
        name: typed_value(hint, data[name])
        for name, hint in get_type_hints(Experiment).items()
        if name not in ("scene", "scenario", "variations")
    }
    variations = tuple(_variation(kinds[kind], one) for one in data["variations"])
    return Experiment(
        scene=typed_value(LocalScene, data["scene"]),
        scenario=typed_value(kinds[kind], scenario),
        variations=variations,
        **rest,
    )


def _variation(scenario: type[PlainScenario], data: Mapping[str, Any]) -> Variation:
    values = tuple((name, value) for name, value in data["values"])
    case = typed_value(scenario.case_type, data["case"])
    return Variation(data["id"], values, data["seed"], case)


def plain_data(value: Any) -> Any:
    """A value of dataclasses as lists, mappings, texts and numbers."""
    if is_dataclass(value):
        return {f.name: plain_data(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, tuple | list):
        return [plain_data(one) for one in value]
    if isinstance(value, frozenset):
        return sorted(value)
    return value


def typed_value(hint: Any, value: Any) -> Any:
    """The value of a type that `plain_data` made data of."""
    origin, args = get_origin(hint), get_args(hint)
    if value is None:
        return None
    if origin in (Union, UnionType):
        return typed_value(next(a for a in args if a is not NoneType), value)
    if origin is tuple:
        kinds = args[:1] * len(value) if args[-1] is Ellipsis else args
        return tuple(typed_value(k, v) for k, v in zip(kinds, value, strict=True))
    if is_dataclass(hint):
        hints = get_type_hints(hint)
        return hint(**{name: typed_value(hints[name], v) for name, v in value.items()})  # type: ignore[operator]
    kind = origin or hint
    is_made = isinstance(kind, type) and issubclass(kind, Enum | Path | frozenset)
    return kind(value) if is_made else value
