"""The scene description: the content of a scene file, without a MuJoCo model.

`Prop` is the base class of custom props; `Pose` places an actor.
"""

from typing import TYPE_CHECKING

from mjrig.lazy import exports

if TYPE_CHECKING:
    from mjrig.scene.pose import Pose as Pose
    from mjrig.scene.prop import Prop as Prop

_HOME = {"Pose": "scene.pose", "Prop": "scene.prop"}

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(__name__, _HOME)
