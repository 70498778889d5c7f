"""The protocol of SocketBridge: requests and replies as JSON or msgpack, and what they do.

docs/serving.md describes it. Nothing that a client sends raises: the reply says what was wrong.
"""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from mjrig.components.bridges.traffic import RejectionError, shortened
from mjrig.core.arrays import FloatArray
from mjrig.core.names import suggestion

#: Grows when a client of an older protocol would misunderstand.
PROTOCOL = 1
#: Formats of a message, and topics of states.
JSON, MSGPACK = b"json", b"msgpack"
#: Largest request [bytes].
LARGEST = 1 << 20
#: Most steps of one request.
MOST_STEPS = 100_000
#: Largest number that a target or gain may be.
_TOO_LARGE = 1e9
#: Rows of setpoints, in the order of `Setpoints.values`, and gains that a request may contain.
ROWS = ("position", "velocity", "feedforward")
GAINS = ("kp", "kv")
_COMMAND = (*ROWS, *GAINS, "sequence", "take")
#: Keys that a request may have besides `op` and `token`.
KEYS: Mapping[str, tuple[str, ...]] = {
    "get": ("sensors",),
    "set": _COMMAND,
    "step": ("n", "sensors", *_COMMAND),
    "run": ("take",),
    "pause": ("take",),
    "cancel": ("take",),
    "reset": ("keyframe", "sensors", "take"),
    "release": ("take",),
}
#: Letters of a misspelt word that are compared with the right ones: comparing takes time.
_COMPARED_LETTERS = 50


class RequestError(RejectionError):
    """What a client asked for is not possible; `subject` is the operation or the key."""


def is_json(message: bytes) -> bool:
    """Whether a message is JSON: text, while a map of msgpack begins with a byte from 128 on."""
    return message[:1] < b"\x80"


def decoded(message: bytes) -> dict[str, Any]:
    """A request.

    Raises:
        RequestError: it is no map, or cannot be read.
    """
    import msgpack

    try:
        if is_json(message):
            found = json.loads(message)
        else:
            found = msgpack.unpackb(message)
    except Exception as error:  # whatever a parser finds: it was sent by somebody else
        reason = str(error)[:200] or type(error).__name__
        raise RequestError("unreadable-request", reason=reason) from None
    if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
        raise RequestError("not-a-map", here=type(found).__name__)
    return found


def encoded(reply: Mapping[str, Any], as_json: bool) -> bytes:
    """A reply or a state, numbers with all of their bits."""
    if as_json:
        return json.dumps(reply).encode()
    import msgpack

    packed: bytes = msgpack.packb(reply)
    return packed


def op_of(request: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    """What is asked for.

    Raises:
        RequestError: it is none of `known`.
    """
    op = request.get("op")
    if not isinstance(op, str) or op not in known:
        hint = (
            suggestion(op[:_COMPARED_LETTERS], known)
            if isinstance(op, str)
            else f"one of {', '.join(known)}"
        )
        raise RequestError("unknown-operation", here=shortened(repr(op)), hint=hint)
    return op


def check_keys(request: Mapping[str, Any], op: str) -> None:
    """Reject keys that would be ignored: a misspelt gain, say.

    Raises:
        RequestError: the operation has no such key.
    """
    keys = KEYS.get(op, ())
    for key in request:
        if key != "op" and key not in keys:
            hint = suggestion(key[:_COMPARED_LETTERS], keys) if keys else "it takes no others"
            raise RequestError("unknown-key", subject=op, here=shortened(repr(key)), hint=hint)


def whole(request: Mapping[str, Any], name: str, default: int, low: int, high: int) -> int:
    """A whole number of a request.

    Raises:
        RequestError: it is something else, or outside its range.
    """
    value = request.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        values = {"here": shortened(repr(value)), "expected": [low, high]}
        raise RequestError("not-a-whole-number", subject=name, **values)
    return value


def flag(request: Mapping[str, Any], name: str) -> bool:
    """A switch of a request, off by default.

    Raises:
        RequestError: it is neither true nor false.
    """
    value = request.get(name, False)
    if not isinstance(value, bool):
        raise RequestError("not-a-switch", subject=name, here=shortened(repr(value)))
    return value


def numbers(name: str, values: FloatArray, *, negative: bool) -> FloatArray:
    """Values that may be given to a law.

    Raises:
        RequestError: one is not finite, is too large, or is negative where that is not allowed.
    """
    good = np.abs(values) <= _TOO_LARGE
    if not good.all():
        raise RequestError("not-finite", subject=name, here=float(values[~good][0]))
    if not negative and (values < 0.0).any():
        raise RequestError("negative", subject=name, here=float(values[values < 0.0][0]))
    return values
