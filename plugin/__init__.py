"""mjrig: actors, components and live properties for MuJoCo."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mjrig.actions import action as action
    from mjrig.actor import Actor as Actor
    from mjrig.articulation import Articulation as Articulation
    from mjrig.batch import Batch as Batch
    from mjrig.binding import ActuatorBinding as ActuatorBinding
    from mjrig.binding import BindingTable as BindingTable
    from mjrig.component import ActorComponent as ActorComponent
    from mjrig.component import Component as Component
    from mjrig.errors import BindingError as BindingError
    from mjrig.errors import ExecutionError as ExecutionError
    from mjrig.errors import LeaseError as LeaseError
    from mjrig.errors import MissingExtraError as MissingExtraError
    from mjrig.errors import MjrigError as MjrigError
    from mjrig.errors import PropertyError as PropertyError
    from mjrig.errors import RecordingError as RecordingError
    from mjrig.errors import SceneError as SceneError
    from mjrig.pose import Pose as Pose
    from mjrig.recording.reading import read_recording as read_recording
    from mjrig.recording.recorder import Recorder as Recorder
    from mjrig.recording.recording import Recording as Recording
    from mjrig.scene import Scene as Scene
    from mjrig.setpoints import Lease as Lease
    from mjrig.setpoints import Setpoints as Setpoints
    from mjrig.setpoints import Source as Source
    from mjrig.world import Snapshot as Snapshot
    from mjrig.world import World as World

_HOME = {
    "action": "actions",
    "Articulation": "articulation",
    "Batch": "batch",
    "ActuatorBinding": "binding",
    "BindingTable": "binding",
    "ActorComponent": "component",
    "Component": "component",
    "BindingError": "errors",
    "ExecutionError": "errors",
    "LeaseError": "errors",
    "MissingExtraError": "errors",
    "MjrigError": "errors",
    "PropertyError": "errors",
    "RecordingError": "errors",
    "SceneError": "errors",
    "Actor": "actor",
    "Pose": "pose",
    "read_recording": "recording.reading",
    "Recorder": "recording.recorder",
    "Recording": "recording.recording",
    "Scene": "scene",
    "Lease": "setpoints",
    "Setpoints": "setpoints",
    "Source": "setpoints",
    "Snapshot": "world",
    "World": "world",
}

if not TYPE_CHECKING:  # lazily: `import mjrig` must stay light and import no mujoco, hence no glfw

    def __getattr__(name):
        if name not in _HOME:
            raise AttributeError(f"module 'mjrig' has no attribute {name!r}")
        return getattr(import_module(f"mjrig.{_HOME[name]}"), name)

    def __dir__():
        return sorted(_HOME)
