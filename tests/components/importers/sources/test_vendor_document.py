"""Python tags in vendors' YAML are data; tensors are left in the file and refused where wanted."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import mjrig
from mjrig.components.importers.sources.vendor_file import VendorFile
from tests.components.importers import biped
from tests.wording import mentions, regex


def read(tmp_path: Path, text: str) -> VendorFile:
    return VendorFile(biped.write(tmp_path / "env.yaml", text))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("!!python/tuple [1, 2]", [1, 2]),
        ("!!python/tuple []", []),
        ("!!python/object/apply:builtins.slice [null, null, null]", [None, None, None]),
        ("!!python/object/apply:mjlab.actuator.TransmissionType [joint]", ["joint"]),
        ("!!python/object:a.b.C {x: 1, y: !!python/tuple [2]}", {"x": 1, "y": [2]}),
        ("!!python/object/new:a.b.C {state: {x: 1}}", {"state": {"x": 1}}),
        ("!!python/name:mjlab.envs.mdp.last_action ''", "mjlab.envs.mdp.last_action"),
        ("!!python/name:mjlab.entity.entity.%3Clambda%3E ''", "mjlab.entity.entity.<lambda>"),
        ("!!python/module:os.path ''", "os.path"),
        ("!!python/none ''", None),
        ("!!python/bool 'true'", True),
        ("!!python/int '12'", 12),
        ("!!python/float '0.5'", 0.5),
        ("!!python/str 'a'", "a"),
        ("!!python/unicode 'ä'", "ä"),
    ],
)  # fmt: skip
def test_a_tag_is_read_as_what_is_behind_it(tmp_path: Path, text: str, value: object) -> None:
    assert read(tmp_path, f"a: {text}\n").data == {"a": value}


def test_aliases_keep_the_name_of_a_function(tmp_path: Path) -> None:
    text = "a: &id001 !!python/name:m.f ''\nb: *id001\nc: [*id001, *id001]\n"
    assert read(tmp_path, text).data == {"a": "m.f", "b": "m.f", "c": ["m.f", "m.f"]}


def test_arrays_are_refused_by_path_and_the_rest_is_kept(tmp_path: Path) -> None:
    data: dict[str, Any] = {"scale": np.array([1.0, 2.0]), "one": np.float64(3.0), "dt": 0.005}
    config = read(tmp_path, yaml.dump(data, Dumper=yaml.Dumper, sort_keys=False))
    assert config.data["dt"] == 0.005
    with pytest.raises(mjrig.SceneError) as caught:
        config.root.numbers("scale", 2)
    assert str(caught.value).startswith("env.yaml:1:8: scale: must be a list, got an object of ")
    assert mentions(str(caught.value), "write its numbers as …")
    with pytest.raises(mjrig.SceneError, match=regex("one: must be a finite … an …")):
        config.root.number("one")


def test_a_tensor_is_left_unread(tmp_path: Path) -> None:
    text = """
offset: !!python/object/apply:torch._utils._rebuild_tensor_v2
- !!python/object/apply:torch.storage._load_from_bytes
  - !!binary |
    gAKKCmz8nEb5IGqoUBkugAJN6Qku
- 0
- !!python/tuple [2]
- !!python/object/apply:collections.OrderedDict []
dt: 0.01
"""
    config = read(tmp_path, text)
    assert config.root.number("dt") == 0.01
    with pytest.raises(mjrig.SceneError, match=regex("offset: is an object of …")):
        config.root.at("offset").at("x")


def test_nothing_is_constructed(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    text = f"""
a: !!python/object/apply:os.system ['touch {mark}']
b: !!python/object/apply:numpy.load ['{mark}']
c: !!python/module:antigravity ''
d: !!python/object/new:subprocess.Popen [[touch, '{mark}']]
"""
    assert set(read(tmp_path, text).data) == set("abcd")
    assert not mark.exists() and "antigravity" not in sys.modules
