"""What an unknown name is taken for."""

import pytest

import mjrig
from mjrig.components import DCMotor, MotorActuator, PDController, PIDController
from mjrig.core.errors import PropertyError
from mjrig.core.names import nearest
from mjrig.core.properties import registry
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.synonyms import _WORDS
from mjrig.core.scene.editing.scene import Actor
from mjrig.core.scene.mujoco_options import SimOptions
from mjrig.core.scene.pose import Pose
from mjrig.core.scene.scene_sections import BodyInertias, Dynamics
from tests.wording import matches


@pytest.mark.parametrize(
    ("cls", "name", "meant"),
    [
        (PDController, "kd", "kv"),
        (PDController, "Kp", "kp"),
        (PDController, "p_gain", "kp"),
        (PDController, "d_gain", "kv"),
        (PDController, "dGain", "kv"),
        (PDController, "stiffness", "kp"),
        (PDController, "damping", "kv"),
        (PDController, "effort_limit", "torque_limit"),
        (PDController, "joints", "actuators"),
        (PDController, "limit", "torque_limit"),
        (PIDController, "integral_gain", "ki"),
        (DCMotor, "stall_torque", "saturation_effort"),
        (MotorActuator, "effort_limit", "forcerange"),
        (Actor, "file", "model"),
        (Actor, "controllers", "components"),
        (Actor, "position", "pose"),
        (Actor, "default_joint_angles", "joints"),
        (Actor, "mocap", "mocap_bodies"),
        (Pose, "quat", "quaternion"),
        (Dynamics, "friction", "frictionloss"),
        (SimOptions, "dt", "timestep"),
        (mjrig.Scene, "robots", "actors"),
        (mjrig.Scene, "simulation", "sim"),
    ],
)
def test_words_of_other_tools_are_known(cls: type[HasProperties], name: str, meant: str) -> None:
    with pytest.raises(PropertyError) as info:
        cls.property_named(name)
    assert matches(str(info.value), f"{cls.__name__} has no property {name!r}; did … {meant!r}?")


def test_every_word_leads_to_a_property_that_exists() -> None:
    classes: list[type[HasProperties]] = [
        registry.get(name, HasProperties) for name in registry.names()
    ]
    classes += [Actor, mjrig.Scene, Pose, Dynamics, BodyInertias, SimOptions]
    known = {p.name for cls in classes for p in cls.properties()}
    known |= {p.name for part in classes for p in part.properties() if p.nests}
    assert set(_WORDS) - known <= {"type", "to"}  # `type` chooses the class, `to` is of `attach`


WORDS = (
    "apple banana chair window purple orange monkey guitar piano mountain cloud bottle pencil "
    "music sugar coffee garden street doctor teacher elephant zebra yellow rocket planet kitchen "
    "butter velvet thunder whisper candle marble ticket engine ladder basket pepper salmon turtle"
).split()


@pytest.mark.parametrize("cls", [PDController, Actor, mjrig.Scene, SimOptions, MotorActuator])
def test_unrelated_words_are_taken_for_nothing(cls: type[HasProperties]) -> None:
    for word in WORDS:
        with pytest.raises(PropertyError, match="; has: "):
            cls.property_named(word)


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("timestpe", "timestep"),
        ("tmestep", "timestep"),
        ("TimeStep", "timestep"),
        ("bend", "FR_bend"),
        ("g", None),
        ("pendulum", None),
        ("none.onnx", None),
    ],
)
def test_only_what_is_near(typed: str, found: str | None) -> None:
    assert nearest(typed, ["a", "FR_bend", "timestep", "policy.onnx", "purple"]) == found
