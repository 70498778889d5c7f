"""mjrig: actors, components and live properties for MuJoCo."""

from typing import TYPE_CHECKING

from mjrig.core.lazy_exports import exports

if TYPE_CHECKING:
    from mjrig.cli.show import show as show
    from mjrig.core.control.articulation import Articulation as Articulation
    from mjrig.core.control.controller import ArticulationController as ArticulationController
    from mjrig.core.control.setpoints import Lease as Lease
    from mjrig.core.control.setpoints import Setpoints as Setpoints
    from mjrig.core.control.setpoints import Source as Source
    from mjrig.core.errors import BindingError as BindingError
    from mjrig.core.errors import ExecutionError as ExecutionError
    from mjrig.core.errors import LeaseError as LeaseError
    from mjrig.core.errors import MissingExtraError as MissingExtraError
    from mjrig.core.errors import MjrigError as MjrigError
    from mjrig.core.errors import PolicyError as PolicyError
    from mjrig.core.errors import PropertyError as PropertyError
    from mjrig.core.errors import RecordingError as RecordingError
    from mjrig.core.errors import SceneError as SceneError
    from mjrig.core.errors import UntrustedError as UntrustedError
    from mjrig.core.model.binding import ActuatorBinding as ActuatorBinding
    from mjrig.core.model.binding import BindingTable as BindingTable
    from mjrig.core.properties.actions import action as action
    from mjrig.core.properties.component import ActorComponent as ActorComponent
    from mjrig.core.properties.component import Component as Component
    from mjrig.core.properties.registry import register as register
    from mjrig.core.scene.editing.scene import Actor as Actor
    from mjrig.core.scene.editing.scene import Scene as Scene
    from mjrig.core.scene.pose import Pose as Pose
    from mjrig.core.sim.batch import Batch as Batch
    from mjrig.core.sim.policy_batch import PolicyBatch as PolicyBatch
    from mjrig.core.sim.world import Snapshot as Snapshot
    from mjrig.core.sim.world import World as World
    from mjrig.data.recording.readers import read_recording as read_recording
    from mjrig.data.recording.recorder import Recorder as Recorder
    from mjrig.data.recording.recording import Recording as Recording
    from mjrig.lab.replay.players import KinematicPlayer as KinematicPlayer
    from mjrig.lab.replay.players import TargetsPlayer as TargetsPlayer
    from mjrig.lab.replay.result import Replay as Replay
    from mjrig.lab.replay.runner import replay as replay

_HOME = {
    "action": "core.properties.actions",
    "Actor": "core.scene.editing.scene",
    "Articulation": "core.control.articulation",
    "ArticulationController": "core.control.controller",
    "Batch": "core.sim.batch",
    "ActuatorBinding": "core.model.binding",
    "BindingTable": "core.model.binding",
    "ActorComponent": "core.properties.component",
    "Component": "core.properties.component",
    "BindingError": "core.errors",
    "ExecutionError": "core.errors",
    "LeaseError": "core.errors",
    "MissingExtraError": "core.errors",
    "MjrigError": "core.errors",
    "PolicyError": "core.errors",
    "PropertyError": "core.errors",
    "RecordingError": "core.errors",
    "SceneError": "core.errors",
    "UntrustedError": "core.errors",
    "PolicyBatch": "core.sim.policy_batch",
    "Pose": "core.scene.pose",
    "register": "core.properties.registry",
    "read_recording": "data.recording.readers",
    "Recorder": "data.recording.recorder",
    "Recording": "data.recording.recording",
    "Scene": "core.scene.editing.scene",
    "Lease": "core.control.setpoints",
    "Setpoints": "core.control.setpoints",
    "Source": "core.control.setpoints",
    "KinematicPlayer": "lab.replay.players",
    "TargetsPlayer": "lab.replay.players",
    "replay": "lab.replay.runner",
    "show": "cli.show",
    "Replay": "lab.replay.result",
    "Snapshot": "core.sim.world",
    "World": "core.sim.world",
}

if not TYPE_CHECKING:  # lazily: `import mjrig` must stay light and import no mujoco, hence no glfw
    __getattr__, __dir__ = exports(__name__, _HOME)
