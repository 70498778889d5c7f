"""The keyframes of a model whose controls and activations are laid out anew."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.callbacks import without_actuator_callbacks

BoolArray = npt.NDArray[np.bool_]
#: Name → (address, count), of ctrl and of act.
Layout = Mapping[str, Mapping[str, tuple[int, int]]]


def read_layout(spec: Any) -> Layout | None:
    """Where each actuator of a spec has its controls and activations; None if no key says any."""
    if not any(len(key.ctrl) or len(key.act) for key in spec.keys):
        return None
    bare = spec.copy()
    for key in list(bare.keys):
        bare.delete(key)
    with without_actuator_callbacks():
        model = bare.compile()
    layout: dict[str, dict[str, tuple[int, int]]] = {"ctrl": {}, "act": {}}
    for i in range(model.nactuator):
        for kind, blocks in layout.items():
            address = int(getattr(model, f"actuator_{kind}adr")[i])
            count = int(getattr(model, f"actuator_{kind}num")[i])
            blocks[model.actuator(i).name] = (address, count)
    return layout


def move_keys(
    spec: Any, before: Layout | None, changed: Collection[str] = ()
) -> dict[str, BoolArray]:
    """Write the keyframes in the layout the spec has now; what they do not give is zero.

    Args:
        spec: with actuators added or replaced since `before`.
        before: the layout its keyframes are written in.
        changed: actuators whose controls mean something else now: none is taken over.

    Returns:
        By keyframe, which numbers of its ctrl it gives itself.
    """
    if before is None:
        return {}
    before = {
        k: {n: b for n, b in names.items() if n not in changed} for k, names in before.items()
    }
    after = read_layout(spec)
    assert after is not None
    given = {}
    for key in spec.keys:
        ctrl, known = _moved(np.array(key.ctrl), before["ctrl"], after["ctrl"])
        act, _ = _moved(np.array(key.act), before["act"], after["act"])
        if len(key.ctrl):
            key.ctrl = ctrl
            given[key.name] = known
        if len(key.act):
            key.act = act
    return given


def _moved(
    values: npt.NDArray[np.float64],
    before: Mapping[str, tuple[int, int]],
    after: Mapping[str, tuple[int, int]],
) -> tuple[npt.NDArray[np.float64], BoolArray]:
    size = sum(count for _, count in after.values())
    moved, known = np.zeros(size), np.zeros(size, dtype=np.bool_)
    for name, (start, count) in after.items():
        first, same = before.get(name, (-1, -1))
        if count and count == same and len(values) >= first + count:
            moved[start : start + count] = values[first : first + count]
            known[start : start + count] = True
    return moved, known
