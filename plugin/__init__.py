"""mjrig: actors, components and live properties for MuJoCo."""

from typing import TYPE_CHECKING

from mjrig.lazy import exports

if TYPE_CHECKING:
    from mjrig.cli.show import show as show
    from mjrig.control.articulation import Articulation as Articulation
    from mjrig.control.controller import ArticulationController as ArticulationController
    from mjrig.control.setpoints import Lease as Lease
    from mjrig.control.setpoints import Setpoints as Setpoints
    from mjrig.control.setpoints import Source as Source
    from mjrig.errors import BindingError as BindingError
    from mjrig.errors import ExecutionError as ExecutionError
    from mjrig.errors import LeaseError as LeaseError
    from mjrig.errors import MissingExtraError as MissingExtraError
    from mjrig.errors import MjrigError as MjrigError
    from mjrig.errors import PolicyError as PolicyError
    from mjrig.errors import PropertyError as PropertyError
    from mjrig.errors import RecordingError as RecordingError
    from mjrig.errors import SceneError as SceneError
    from mjrig.errors import UntrustedError as UntrustedError
    from mjrig.model.binding import ActuatorBinding as ActuatorBinding
    from mjrig.model.binding import BindingTable as BindingTable
    from mjrig.properties.actions import action as action
    from mjrig.properties.component import ActorComponent as ActorComponent
    from mjrig.properties.component import Component as Component
    from mjrig.properties.registry import register as register
    from mjrig.recording.reading import read_recording as read_recording
    from mjrig.recording.recorder import Recorder as Recorder
    from mjrig.recording.recording import Recording as Recording
    from mjrig.scene.pose import Pose as Pose
    from mjrig.scene_edit.actor import Actor as Actor
    from mjrig.scene_edit.scene import Scene as Scene
    from mjrig.sim.batch import Batch as Batch
    from mjrig.sim.policy_batch import PolicyBatch as PolicyBatch
    from mjrig.sim.world import Snapshot as Snapshot
    from mjrig.sim.world import World as World
    from mjrig.sim2sim.compare.result import Replay as Replay
    from mjrig.sim2sim.play.players import KinematicPlayer as KinematicPlayer
    from mjrig.sim2sim.play.players import TargetsPlayer as TargetsPlayer
    from mjrig.sim2sim.replaying import replay as replay

_HOME = {
    "action": "properties.actions",
    "Actor": "scene_edit.actor",
    "Articulation": "control.articulation",
    "ArticulationController": "control.controller",
    "Batch": "sim.batch",
    "ActuatorBinding": "model.binding",
    "BindingTable": "model.binding",
    "ActorComponent": "properties.component",
    "Component": "properties.component",
    "BindingError": "errors",
    "ExecutionError": "errors",
    "LeaseError": "errors",
    "MissingExtraError": "errors",
    "MjrigError": "errors",
    "PolicyError": "errors",
    "PropertyError": "errors",
    "RecordingError": "errors",
    "SceneError": "errors",
    "UntrustedError": "errors",
    "PolicyBatch": "sim.policy_batch",
    "Pose": "scene.pose",
    "register": "properties.registry",
    "read_recording": "recording.reading",
    "Recorder": "recording.recorder",
    "Recording": "recording.recording",
    "Scene": "scene_edit.scene",
    "Lease": "control.setpoints",
    "Setpoints": "control.setpoints",
    "Source": "control.setpoints",
    "KinematicPlayer": "sim2sim.play.players",
    "TargetsPlayer": "sim2sim.play.players",
    "replay": "sim2sim.replaying",
    "show": "cli.show",
    "Replay": "sim2sim.compare.result",
    "Snapshot": "sim.world",
    "World": "sim.world",
}

if not TYPE_CHECKING:  # lazily: `import mjrig` must stay light and import no mujoco, hence no glfw
    __getattr__, __dir__ = exports(__name__, _HOME)
