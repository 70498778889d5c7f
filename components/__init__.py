"""What can be put on an actor, and what that is made of."""

from mjrig.components.actuators.dcmotor_actuator import DCMotorActuator
from mjrig.components.actuators.force_actuators import (
    AdhesionActuator,
    CylinderActuator,
    DamperActuator,
    GeneralActuator,
    MotorActuator,
    MuscleActuator,
)
from mjrig.components.actuators.servo_actuators import (
    IntVelocityActuator,
    OrientationActuator,
    PIDActuator,
    PositionActuator,
    VelocityActuator,
)
from mjrig.components.controllers.law_controller import LawController
from mjrig.components.controllers.neural_controller import NeuralController
from mjrig.components.controllers.passthrough_controller import PassthroughController
from mjrig.components.controllers.pd_controller import PDController
from mjrig.components.controllers.pid_controller import PIDController
from mjrig.components.controllers.trot_gait import TrotGait
from mjrig.components.laws.clamp import Clamp, DCMotor, MaxEffort
from mjrig.components.laws.delay import Delay
from mjrig.components.laws.feedback import PD, PID
from mjrig.components.laws.law import Law
from mjrig.components.laws.networks import GRU, LSTM, MLP
from mjrig.components.laws.pipeline import Pipeline
from mjrig.components.laws.position_table import PositionTable
from mjrig.components.policies.policy import Policy
from mjrig.components.policies.policy_file import PolicyFile
from mjrig.components.policies.terms.term import ObservationTerm
from mjrig.components.policies.terms.view import View
from mjrig.components.props.height_field import HeightFieldProp
from mjrig.components.props.scenery import CameraProp, GroundProp, LightProp
from mjrig.components.props.solids import (
    BoxProp,
    CapsuleProp,
    CylinderProp,
    MeshProp,
    SolidProp,
    SphereProp,
)
from mjrig.control.controller import ArticulationController
from mjrig.scene.actuator_sensor import ActuatorSensor

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
