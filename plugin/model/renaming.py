"""Renaming elements of a spec; references to them follow."""

from collections.abc import Mapping
from typing import Any

import mujoco

from mjrig.errors import PropertyError
from mjrig.model.model_references import KINDS, ModelElement, references

#: Method of MjsTendon, and its arguments.
Wrap = tuple[str, tuple[Any, ...]]

_WRAP = mujoco.mjtWrap
_NOT_COPIED = ("id", "signature", "path", "name", "default", "compiler", "info")


def rename(spec: Any, names: Mapping[ModelElement, str]) -> None:
    """Rename elements.

    Raises:
        PropertyError: a new name is taken by an element of the same kind.
    """
    _check_free(spec, names)
    new = {(element.kind, element.name): name for element, name in names.items()}
    followed = [r for r in references(spec) if (r.kind, r.name) in new]
    tendons = list(spec.tendons) if any(r.holder.kind == "tendon" for r in followed) else []
    paths = [_path(tendon, new) for tendon in tendons]
    for reference in followed:
        if reference.write is not None:
            reference.write(new[reference.kind, reference.name])
    for i, element in enumerate(names):  # temporary names: two names may be swapped
        element.handle.name = f"mjrig renames {i}"
    for element, name in names.items():
        element.handle.name = name
    _rebuild_tendons(spec, list(zip(tendons, paths, strict=True)))


def _check_free(spec: Any, names: Mapping[ModelElement, str]) -> None:
    for element, name in names.items():
        others = [
            e for e in (ModelElement(element.kind, h) for h in getattr(spec, KINDS[element.kind]))
            if e != element
        ]  # fmt: skip
        taken = {names.get(e, e.name) for e in others}
        if name in taken:
            raise PropertyError(f"{element} cannot be {name!r}: there is another {element.kind} "
                                "of that name")  # fmt: skip


# Tendons ----------------------------------------------------------------------------------------


def _path(tendon: Any, new: Mapping[tuple[str, str], str]) -> list[Wrap]:
    """The calls that wrap a tendon again around renamed elements: (method, arguments)."""

    def follow(kind: str, element: Any) -> str:
        return new.get((kind, element.name), element.name) if element is not None else ""

    calls: list[Wrap] = []
    for wrap in tendon.path:
        if wrap.type == _WRAP.mjWRAP_JOINT:
            calls.append(("wrap_joint", (follow("joint", wrap.target), wrap.coef)))
        elif wrap.type == _WRAP.mjWRAP_SITE:
            calls.append(("wrap_site", (follow("site", wrap.target),)))
        elif wrap.type == _WRAP.mjWRAP_PULLEY:
            calls.append(("wrap_pulley", (wrap.divisor,)))
        else:
            side = follow("site", wrap.sidesite)
            calls.append(("wrap_geom", (follow("geom", wrap.target), side)))
    return calls


def _rebuild_tendons(spec: Any, kept: list[tuple[Any, list[Wrap]]]) -> None:
    """Rebuild all tendons in order: MjSpec cannot change what a tendon wraps around."""
    for old, path in kept:
        made = spec.add_tendon()
        for name in dir(old):
            if not name.startswith(("_", "wrap_")) and name not in _NOT_COPIED:
                setattr(made, name, getattr(old, name))
        name = old.name
        spec.delete(old)
        made.name = name
        for method, arguments in path:
            getattr(made, method)(*arguments)
