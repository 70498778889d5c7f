"""The protocol of SocketBridge: requests and replies as JSON or msgpack, and what they do.

docs/serving.md describes it. Nothing that a client sends raises: the reply says what was wrong.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.errors import MjrigError
from mjrig.names import suggestion

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


class RequestError(MjrigError, ValueError):
    """What a client asked for is not possible."""


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
        raise RequestError(f"cannot be read: {str(error)[:200] or type(error).__name__}") from None
    if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
        raise RequestError(f"must be a map with texts as keys, got {type(found).__name__}")
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
        hint = suggestion(op, known) if isinstance(op, str) else f"one of {', '.join(known)}"
        raise RequestError(f"op: {op!r} is not known; {hint}")
    return op


def check_keys(request: Mapping[str, Any], op: str, known: Collection[str]) -> None:
    """Refuse what nothing would be done with: a misspelt gain, say.

    Raises:
        RequestError: a key is none of `known`.
    """
    for key in request:
        if key != "op" and key not in known:
            hint = suggestion(str(key), known) if known else "it takes no others"
            raise RequestError(f"{op}: unknown key {key!r}; {hint}")


def whole(request: Mapping[str, Any], name: str, default: int, low: int, high: int) -> int:
    """A whole number of a request.

    Raises:
        RequestError: it is something else, or outside its range.
    """
    value = request.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise RequestError(f"{name}: must be a whole number from {low} to {high}, got {value!r}")
    return value


def numbers(name: str, values: FloatArray, *, negative: bool) -> FloatArray:
    """Values that may be given to a law.

    Raises:
        RequestError: one is not finite, is too large, or is negative where that is not allowed.
    """
    good = np.abs(values) <= _TOO_LARGE
    if not good.all():
        raise RequestError(f"{name}: must be finite numbers, got {values[~good][0]}")
    if not negative and (values < 0.0).any():
        raise RequestError(f"{name}: must be >= 0, got {values[values < 0.0][0]:g}")
    return values
