"""Values and whole components as YAML text, for the clipboard. No imgui."""

from collections.abc import Mapping
from typing import Any

from mjrig.core.errors import MjrigError, PropertyError
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.yaml_text.formatting import format_block, format_flow
from mjrig.core.yaml_text.yaml_document import parse_value
from mjrig.editor.edits.edits import UNSET
from mjrig.editor.inspector.fields import EditedObject, Field
from mjrig.editor.text import tr


def value_text(field: Field) -> str:
    """The value of one row."""
    return format_flow(field.data()[0])


def category_text(obj: HasProperties, category: str) -> str:
    """What is authored under one heading, as a mapping."""
    names = {prop.name for prop in obj.properties() if prop.category == category}
    data = HasProperties.to_data(obj)
    return _block({name: value for name, value in data.items() if name in names})


def object_text(obj: HasProperties) -> str:
    """A whole component or actor, as in a scene file."""
    return _block(obj.to_data())


def _block(data: Mapping[str, Any]) -> str:
    return format_block(data, 0) + "\n"


def parsed(text: str) -> Any:
    """What a text of the clipboard means.

    Raises:
        PropertyError: it is empty or not YAML.
    """
    if not text.strip():
        raise PropertyError(tr("cannot paste: the clipboard has no text"))
    try:
        return parse_value(text)
    except MjrigError as error:
        raise PropertyError(tr("cannot paste the clipboard: {error}", error=error)) from error


def values_to_paste(target: EditedObject, text: str) -> dict[str, object]:
    """The properties a text sets on an object, by path.

    A text with a `type` is a whole component: properties it lacks return to their defaults. Names
    stay.

    Raises:
        PropertyError: it is not a mapping, is of another type, or names an unknown property.
    """
    data, obj = parsed(text), target.obj
    kind = type(obj).__name__
    if not isinstance(data, Mapping):
        raise PropertyError(
            tr(
                "cannot paste: {path} needs a mapping, got {data}",
                path=target.path,
                data=_short(data),
            )
        )
    data = dict(data)
    found = data.pop("type", None)
    if found is not None and found != kind:
        raise PropertyError(
            tr(
                "cannot paste: the clipboard has a {found}, {path} is a {kind}",
                found=found,
                path=target.path,
                kind=kind,
            )
        )
    for name in data:
        try:
            obj.property_named(str(name))
        except PropertyError as error:
            raise PropertyError(tr("cannot paste: {error}", error=error)) from None
    data.pop("name", None)
    if found is not None:
        data = {**{n: UNSET for n in HasProperties.to_data(obj) if n not in data}, **data}
    if not data:
        raise PropertyError(tr("cannot paste: the clipboard has no properties"))
    return {f"{target.path}.{name}": value for name, value in data.items()}


def _short(data: object) -> str:
    text = format_flow(data)
    return text if len(text) < 60 else text[:57] + "..."
