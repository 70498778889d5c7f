"""Tables take what a file can hold, and refuse anything else when it is assigned."""

import datetime
import math
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.core.properties.declaration import MAX_DEPTH, MAX_DIGITS
from mjrig.core.yaml_text.yaml_document import MAX_NODES

TEXT = "mjrig: 1\nvars: {a: 1} # note\nactors: []\n"


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def itself() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


WRITABLE = {
    "array": np.arange(3.0),
    "numbers": [np.float64(0.1), np.int32(4), np.bool_(True), None, -0.0, math.inf],
    "tuple": (1, ("a", 2.5)),
    "texts": ["\ud800", "a\0b", "\x85", "\ufeffx", "a\r\nb", "\u2028", "$${x}", "", "~", "1e3"],
    "keys": {"~": 1, "<<": {"a": 1}, "=": 2, "": 3, "é": 4},
    "digits": 10**MAX_DIGITS - 1,
    "depth": nested(MAX_DEPTH),
}
UNWRITABLE = {
    "digits": (10**MAX_DIGITS, f"must be a number of at most {MAX_DIGITS} digits"),
    "many digits": (-(10**5000), "got a value with thousands of digits"),
    "depth": (nested(MAX_DEPTH + 1), f"must be nested at most {MAX_DEPTH} deep"),
    "itself": (itself(), "must be nested at most"),
    "key": ({1: 2}, "must be a mapping with names as keys, not 1"),
    "no key": ([{None: 2}], "must be a mapping with names as keys, not None"),
    "bytes": (b"x", "must be plain data"),
    "set": ([{1}], "must be plain data"),
    "date": ({"a": datetime.date(2020, 1, 1)}, "must be plain data"),
    "complex": (1j, "must be plain data"),
    "object": (object(), "must be plain data"),
    "unknown variable": ("${x}", "there is no variable 'x'"),
}


@pytest.mark.parametrize("text", [TEXT, ""], ids=["read", "made"])
@pytest.mark.parametrize("case", WRITABLE)
def test_plain_data_is_written_and_read_back(case: str, text: str) -> None:
    scene = _scene(text)
    scene.set("vars.a", WRITABLE[case])
    again = mjrig.Scene.parse(scene.to_text())
    assert again.to_data()["vars"] == scene.to_data()["vars"]


@pytest.mark.parametrize("text", [TEXT, ""], ids=["read", "made"])
@pytest.mark.parametrize("case", UNWRITABLE)
def test_other_data_is_refused_when_it_is_assigned(case: str, text: str) -> None:
    scene = _scene(text)
    before = scene.to_text()
    value, problem = UNWRITABLE[case]
    with pytest.raises(mjrig.PropertyError) as caught:
        scene.set("vars.a", value)
    assert problem in str(caught.value)
    assert len(str(caught.value)) < 500
    assert scene.to_text() == before


def test_more_values_than_a_file_can_have_are_refused() -> None:
    scene = _scene(TEXT)
    with pytest.raises(mjrig.PropertyError, match=f"at most {MAX_NODES} values"):
        scene.set("vars.a", [0] * MAX_NODES)
    assert scene.to_text() == TEXT
    joints = {f"joint{i}": 1 for i in range(1000)}
    with pytest.raises(mjrig.PropertyError, match=f"at most {MAX_NODES} values"):
        for i in range(MAX_NODES // 2000 + 1):
            scene.add_actor(f"a{i}", model="m.xml", joints=joints)
    assert len(scene.actors) == (MAX_NODES - 100) // 2005
    assert mjrig.Scene.parse(scene.to_text()).to_data() == scene.to_data()
    scene.remove("a0")
    scene.add_actor("again", model="m.xml", joints=joints)


def _scene(text: str) -> mjrig.Scene:
    if text:
        return mjrig.Scene.parse(text)
    return mjrig.Scene.from_data({"mjrig": 1, "vars": {"a": 1}})
