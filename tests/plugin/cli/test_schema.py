"""JSON Schema, made from the declarations."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

import pytest
import yaml

from mjrig.cli.schema import file_schema, scene_schema
from mjrig.components import PDController
from mjrig.core.properties import registry
from mjrig.core.properties.has_properties import HasProperties
from tests.wording import matches

jsonschema = pytest.importorskip("jsonschema", reason="needs the extra 'dev'")

SCENES = sorted(
    (
        file
        for folder in ("scenes", "parts")
        for file in files("mjrig.config").joinpath(folder).iterdir()
        if file.name.endswith(".yaml")
    ),
    key=str,
)

SCENE = """
mjrig: 1
sim: {timestep: 1e-3, gravity: [0, 0, -1], contact: disable, iterations: 50}
actors:
  - name: dog
    model: dog.xml
    pose: {position: [0, 0, 1]}
    joints: {".*": 0.5}
    components:
      - type: PDController
        actuators: [a, b]
        kp: {".*": 40, default: 1}
        kv: [1, 2, 3]
        torque_limit: .inf
"""


@cache
def validator() -> Any:
    """Of scenes: one for all tests, none of which changes it."""
    return jsonschema.Draft202012Validator(scene_schema())


def is_valid(**controller: Any) -> bool:
    """Whether the schema takes the scene above with a change to its controller."""
    data = yaml.safe_load(SCENE)
    data["actors"][0]["components"][0] |= controller
    return bool(validator().is_valid(data))


@pytest.mark.slow
def test_the_schema_is_a_valid_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(scene_schema())


def test_the_schema_is_plain_data() -> None:
    assert json.loads(json.dumps(scene_schema())) == scene_schema()


def test_there_are_scenes_to_validate() -> None:
    assert {"quadruped.yaml", "pendulum.yaml"} <= {p.name for p in SCENES}


@pytest.mark.parametrize("scene", SCENES, ids=lambda p: str(p.name))
def test_every_bundled_scene_is_valid(scene: Any) -> None:
    data = yaml.safe_load(scene.read_text(encoding="utf-8"))
    validator().validate(data)


def test_a_scene_with_everything_is_valid() -> None:
    assert is_valid()


@pytest.mark.parametrize(
    "controller",
    [
        {"kp": 40},
        {"kp": "1e-3"},
        {"kp": None},
        {"actuators": "FL_.*"},
        {"enabled": False},
        {"precision": "float32"},
    ],
)
def test_what_a_property_takes_is_valid(controller: dict[str, Any]) -> None:
    PDController.from_data(controller)
    assert is_valid(**controller)


@pytest.mark.parametrize(
    "controller",
    [
        {"kpp": 40},
        {"kp": -1},
        {"kp": [1, -1]},
        {"kp": {"a": -1}},
        {"kp": "stiff"},
        {"kp": True},
        {"default_kp": "stiff"},
        {"default_kp": -1},
        {"enabled": "yes"},
        {"actuators": 3},
        {"actuators": []},
        {"precision": "float16"},
        {"type": "PDControler"},
    ],
)
def test_what_a_property_refuses_is_invalid(controller: dict[str, Any]) -> None:
    assert not is_valid(**controller)


@pytest.mark.parametrize(
    "change",
    [
        {"simm": {}},
        {"mjrig": "one"},
        {"sim": {"timestepp": 1}},
        {"sim": {"gravity": [0, 0]}},
        {"sim": {"contact": "off"}},
        {"sim": {"iterations": -1}},
        {"actors": {}},
        {"actors": [{"name": "dog"}]},
        {"actors": [{"name": "dog", "model": "dog.xml", "pose": {"position": [0, 0]}}]},
        {"actors": [{"name": "dog", "model": "dog.xml", "components": [{"kp": 1}]}]},
    ],
)
def test_a_scene_with_an_unknown_key_or_a_wrong_type_is_invalid(change: dict[str, Any]) -> None:
    data = yaml.safe_load(SCENE) | change
    assert not validator().is_valid(data)


def test_the_format_version_is_required() -> None:
    assert [e.message for e in validator().iter_errors({"actors": []})] == [
        "'mjrig' is a required property"
    ]


def test_a_description_says_doc_unit_and_default() -> None:
    schema = scene_schema()["$defs"]["PDController"]["properties"]
    assert matches(
        schema["default_kp"]["description"],
        "Stiffness of actuators that kp … [N·m/rad] Default: 100.",
    )


def test_what_is_not_stored_is_not_in_the_schema() -> None:
    definitions = scene_schema()["$defs"]
    for name in registry.names():
        cls = registry.get(name, HasProperties)
        known = definitions.get(name)
        if known is not None:
            stored = {p.name for p in cls.properties() if p.stored}
            assert set(known["properties"]) == {"type", *stored}


# Variables and includes -------------------------------------------------------------------------

WITH_VARIABLES = """
mjrig: 1
vars: {kp: 40, side: left, gains: {a: 1}, pose: {position: [0, 0, 1]}, dog: {name: d, model: m.xml}}
include: [part.yaml, {file: other.yaml, prefix: "${side}_", vars: {kp: 1}, set: {dog.pd.kp: 3}}]
sim: {timestep: "${kp}", gravity: [0, 0, "${kp}"], integrator: "${side}", iterations: "${kp}"}
actors:
  - name: ${side}_dog
    model: ${side}.xml
    pose: ${pose}
    joints: {"${side}_hip": "${kp}"}
    components:
      - {type: PDController, kp: "${kp}", kv: ["${kp}", 2], enabled: "${side}", delay: "${gains}"}
      - {type: "${side}", whatever: 1}
      - ${gains}
  - ${dog}
"""


def test_variables_may_stand_wherever_a_value_does() -> None:
    validator().validate(yaml.safe_load(WITH_VARIABLES))


@pytest.mark.parametrize("text", ["kp", "$kp", "{kp}", "${}", "$${kp}", "${kp", "a $${kp} b"])
def test_a_text_without_a_variable_is_no_number(text: str) -> None:
    assert not is_valid(kp=text)


@pytest.mark.parametrize(
    "include",
    [[3], [{"prefix": 3}], [{"fil": "a.yaml"}], "part.yaml", [{"file": "a.yaml", "set": [1]}]],
)
def test_an_include_that_is_none_is_invalid(include: Any) -> None:
    data = yaml.safe_load(SCENE) | {"include": include}
    assert not validator().is_valid(data)


POLICY = """
network: policy.onnx
joints: [hip, knee]
default: {hip: 0.1}
start: {duration: 1, kp: [80, 80]}
observation: {history: {length: 5}, terms: [{type: JointPositions, scale: 2}, {type: LastAction}]}
action: {scale: 0.25, clip: [-1, 1], clip_target: ctrlrange, offset: default}
"""


@pytest.mark.parametrize(
    ("old", "new", "fits"),
    [
        ("knee", "knee", True),
        ("offset: default", "offset: [1, 2]", True),
        ("clip: [-1, 1]", "clip: [-1]", False),
        ("type: LastAction", "type: LastActions", False),
        ("network: policy.onnx", "network: policy.onnx\nphase: between", False),
        ("network: policy.onnx", "netwrk: policy.onnx", False),
        ("length: 5", "length: many", False),
    ],
)
def test_policy_files_have_a_schema(old: str, new: str, fits: bool) -> None:
    data = yaml.safe_load(POLICY.replace(old, new))
    assert jsonschema.Draft202012Validator(file_schema("PolicyFile")).is_valid(data) is fits


def test_the_schema_of_policy_files_is_a_valid_schema_without_variables() -> None:
    schema = file_schema("PolicyFile")
    jsonschema.Draft202012Validator.check_schema(schema)
    assert "#/$defs/variable" not in json.dumps(schema)
