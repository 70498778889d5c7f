"""What can be put on an actor, and what that is made of."""

from mjrig.actuator_sensor import ActuatorSensor
from mjrig.components.actuators import (
    AdhesionActuator,
    CylinderActuator,
    DamperActuator,
    GeneralActuator,
    MotorActuator,
    MuscleActuator,
)
from mjrig.components.clamp import Clamp, DCMotor, MaxEffort, PositionTable
from mjrig.components.dcmotor_actuator import DCMotorActuator
from mjrig.components.delay import Delay
from mjrig.components.feedback import PD, PID
from mjrig.components.height_field import HeightFieldProp
from mjrig.components.law import Law
from mjrig.components.law_controller import LawController
from mjrig.components.networks import GRU, LSTM, MLP
from mjrig.components.neural_controller import NeuralController
from mjrig.components.passthrough_controller import PassthroughController
from mjrig.components.pd_controller import PDController
from mjrig.components.pid_controller import PIDController
from mjrig.components.pipeline import Pipeline
from mjrig.components.policies.policy import Policy
from mjrig.components.policies.policy_file import PolicyFile
from mjrig.components.policies.term import ObservationTerm
from mjrig.components.policies.view import View
from mjrig.components.props import (
    BoxProp,
    CapsuleProp,
    CylinderProp,
    MeshProp,
    SolidProp,
    SphereProp,
)
from mjrig.components.scenery import CameraProp, GroundProp, LightProp
from mjrig.components.servo_actuators import (
    IntVelocityActuator,
    OrientationActuator,
    PIDActuator,
    PositionActuator,
    VelocityActuator,
)
from mjrig.components.trot_gait import TrotGait
from mjrig.controller import ArticulationController

__all__ = [
    "GRU",
    "LSTM",
    "MLP",
    "PD",
    "PID",
    "ActuatorSensor",
    "AdhesionActuator",
    "ArticulationController",
    "BoxProp",
    "CameraProp",
    "CapsuleProp",
    "Clamp",
    "CylinderActuator",
    "CylinderProp",
    "DCMotor",
    "DCMotorActuator",
    "DamperActuator",
    "Delay",
    "GeneralActuator",
    "GroundProp",
    "HeightFieldProp",
    "IntVelocityActuator",
    "Law",
    "LawController",
    "LightProp",
    "MaxEffort",
    "MeshProp",
    "MotorActuator",
    "MuscleActuator",
    "NeuralController",
    "ObservationTerm",
    "OrientationActuator",
    "PDController",
    "PIDActuator",
    "PIDController",
    "PassthroughController",
    "Pipeline",
    "Policy",
    "PolicyFile",
    "PositionActuator",
    "PositionTable",
    "SolidProp",
    "SphereProp",
    "TrotGait",
    "VelocityActuator",
    "View",
]
