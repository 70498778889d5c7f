"""Removing elements from a spec, with everything that depends on them."""

from collections.abc import Iterable
from typing import Any

from mjrig.model.model_references import (
    IN_BODIES,
    ModelElement,
    inside,
    references,
)

Pair = tuple[str, str]


def closure(spec: Any, start: Iterable[ModelElement]) -> list[ModelElement]:
    """These elements, their content, and what has a required reference to any of it."""
    gone = dict.fromkeys(start)
    bodies = {e.name for e in gone if e.kind == "body"}
    gone.update(dict.fromkeys(inside(spec, bodies)))
    known = list(references(spec))
    while True:
        names = {(e.kind, e.name) for e in gone if e.name}
        more = [
            r.holder
            for r in known
            if r.drop is None and (r.kind, r.name) in names and r.holder not in gone
        ]
        if not more:
            return list(gone)
        gone.update(dict.fromkeys(more))


def remove(spec: Any, start: Iterable[ModelElement]) -> list[Pair]:
    """Remove elements and what depends on them; returns kind and name of all removed."""
    start = list(start)
    if not start:
        return []
    gone = closure(spec, start)
    pairs = [(e.kind, e.name) for e in gone]
    names = set(pairs)
    for reference in list(references(spec)):
        if reference.drop is not None and (reference.kind, reference.name) in names:
            reference.drop()
    bodies = {e.name for e in gone if e.kind == "body"}
    whole = [e for e in gone if e.kind == "body" and e.handle.parent.name not in bodies]
    # Elements that refer to others first; the content of a removed body is removed with it.
    loose = [e for e in gone if e.kind != "body" and not _is_in(e, bodies)]
    for element in [*(e for e in loose if e.kind not in IN_BODIES),
                    *(e for e in loose if e.kind in IN_BODIES), *whole]:  # fmt: skip
        spec.delete(element.handle)
    return pairs


def _is_in(element: ModelElement, bodies: set[str]) -> bool:
    return element.kind in IN_BODIES and element.handle.parent.name in bodies
