"""What can be put on an actor, and what that is made of."""

from typing import TYPE_CHECKING

from mjrig.core.lazy_exports import exports

if TYPE_CHECKING:
    from mjrig.components.actuators.dcmotor_actuator import DCMotorActuator as DCMotorActuator
    from mjrig.components.actuators.force_actuators import AdhesionActuator as AdhesionActuator
    from mjrig.components.actuators.force_actuators import CylinderActuator as CylinderActuator
    from mjrig.components.actuators.force_actuators import DamperActuator as DamperActuator
    from mjrig.components.actuators.force_actuators import GeneralActuator as GeneralActuator
    from mjrig.components.actuators.force_actuators import MotorActuator as MotorActuator
    from mjrig.components.actuators.force_actuators import MuscleActuator as MuscleActuator
    from mjrig.components.actuators.servo_actuators import (
        IntVelocityActuator as IntVelocityActuator,
    )
    from mjrig.components.actuators.servo_actuators import (
        OrientationActuator as OrientationActuator,
    )
    from mjrig.components.actuators.servo_actuators import PIDActuator as PIDActuator
    from mjrig.components.actuators.servo_actuators import PositionActuator as PositionActuator
    from mjrig.components.actuators.servo_actuators import VelocityActuator as VelocityActuator
    from mjrig.components.controllers.feedback_controllers import PDController as PDController
    from mjrig.components.controllers.feedback_controllers import PIDController as PIDController
    from mjrig.components.controllers.joint_friction import JointFriction as JointFriction
    from mjrig.components.controllers.neural_controller import NeuralController as NeuralController
    from mjrig.components.controllers.passthrough_controller import (
        PassthroughController as PassthroughController,
    )
    from mjrig.components.controllers.pipeline_controller import LawController as LawController
    from mjrig.components.controllers.servo_controller import ServoController as ServoController
    from mjrig.components.controllers.trot_gait import TrotGait as TrotGait
    from mjrig.components.laws.clamps import Clamp as Clamp
    from mjrig.components.laws.clamps import DCMotor as DCMotor
    from mjrig.components.laws.clamps import MaxEffort as MaxEffort
    from mjrig.components.laws.clamps import PositionTable as PositionTable
    from mjrig.components.laws.clamps import TorqueSpeedCurve as TorqueSpeedCurve
    from mjrig.components.laws.delay import Delay as Delay
    from mjrig.components.laws.feedback import PD as PD
    from mjrig.components.laws.feedback import PID as PID
    from mjrig.components.laws.law import Law as Law
    from mjrig.components.laws.networks import GRU as GRU
    from mjrig.components.laws.networks import LSTM as LSTM
    from mjrig.components.laws.networks import MLP as MLP
    from mjrig.components.laws.pipeline import Pipeline as Pipeline
    from mjrig.components.laws.servo import CurrentServo as CurrentServo
    from mjrig.components.laws.servo import VoltageServo as VoltageServo
    from mjrig.components.policies.policy import Policy as Policy
    from mjrig.components.policies.policy_file import PolicyFile as PolicyFile
    from mjrig.components.policies.policy_switch import PolicySwitch as PolicySwitch
    from mjrig.components.policies.terms.term import ObservationTerm as ObservationTerm
    from mjrig.components.policies.terms.view import View as View
    from mjrig.components.props.scenery import CameraProp as CameraProp
    from mjrig.components.props.scenery import GroundProp as GroundProp
    from mjrig.components.props.scenery import LightProp as LightProp
    from mjrig.components.props.solids import BoxProp as BoxProp
    from mjrig.components.props.solids import CapsuleProp as CapsuleProp
    from mjrig.components.props.solids import CylinderProp as CylinderProp
    from mjrig.components.props.solids import MeshProp as MeshProp
    from mjrig.components.props.solids import SolidProp as SolidProp
    from mjrig.components.props.solids import SphereProp as SphereProp
    from mjrig.components.props.terrain import Ground as Ground
    from mjrig.components.props.terrain import HeightFieldProp as HeightFieldProp
    from mjrig.components.props.terrain import TerrainProp as TerrainProp
    from mjrig.components.props.terrain import TerrainTile as TerrainTile
    from mjrig.core.control.controller import ArticulationController as ArticulationController
    from mjrig.core.scene.actuator import ActuatorSensor as ActuatorSensor

_HOME = {
    "ActuatorSensor": "core.scene.actuator",
    "AdhesionActuator": "components.actuators.force_actuators",
    "ArticulationController": "core.control.controller",
    "BoxProp": "components.props.solids",
    "CameraProp": "components.props.scenery",
    "CapsuleProp": "components.props.solids",
    "Clamp": "components.laws.clamps",
    "CurrentServo": "components.laws.servo",
    "CylinderActuator": "components.actuators.force_actuators",
    "CylinderProp": "components.props.solids",
    "DamperActuator": "components.actuators.force_actuators",
    "DCMotor": "components.laws.clamps",
    "DCMotorActuator": "components.actuators.dcmotor_actuator",
    "Delay": "components.laws.delay",
    "GeneralActuator": "components.actuators.force_actuators",
    "GroundProp": "components.props.scenery",
    "Ground": "components.props.terrain",
    "GRU": "components.laws.networks",
    "HeightFieldProp": "components.props.terrain",
    "IntVelocityActuator": "components.actuators.servo_actuators",
    "JointFriction": "components.controllers.joint_friction",
    "Law": "components.laws.law",
    "LawController": "components.controllers.pipeline_controller",
    "LightProp": "components.props.scenery",
    "LSTM": "components.laws.networks",
    "MaxEffort": "components.laws.clamps",
    "MeshProp": "components.props.solids",
    "MLP": "components.laws.networks",
    "MotorActuator": "components.actuators.force_actuators",
    "MuscleActuator": "components.actuators.force_actuators",
    "NeuralController": "components.controllers.neural_controller",
    "ObservationTerm": "components.policies.terms.term",
    "OrientationActuator": "components.actuators.servo_actuators",
    "PassthroughController": "components.controllers.passthrough_controller",
    "PD": "components.laws.feedback",
    "PDController": "components.controllers.feedback_controllers",
    "PID": "components.laws.feedback",
    "PIDActuator": "components.actuators.servo_actuators",
    "PIDController": "components.controllers.feedback_controllers",
    "Pipeline": "components.laws.pipeline",
    "Policy": "components.policies.policy",
    "PolicyFile": "components.policies.policy_file",
    "PolicySwitch": "components.policies.policy_switch",
    "PositionActuator": "components.actuators.servo_actuators",
    "PositionTable": "components.laws.clamps",
    "ServoController": "components.controllers.servo_controller",
    "SolidProp": "components.props.solids",
    "SphereProp": "components.props.solids",
    "TorqueSpeedCurve": "components.laws.clamps",
    "TerrainProp": "components.props.terrain",
    "TerrainTile": "components.props.terrain",
    "TrotGait": "components.controllers.trot_gait",
    "VelocityActuator": "components.actuators.servo_actuators",
    "View": "components.policies.terms.view",
    "VoltageServo": "components.laws.servo",
}

if not TYPE_CHECKING:  # the command line imports this package for `mjrig import`
    __getattr__, __dir__ = exports(__name__, _HOME)
