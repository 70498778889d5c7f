"""The scene description: the content of a scene file, without a MuJoCo model.

`Prop` is the base class of custom props; `Pose` places an actor.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mjrig.scene.pose import Pose as Pose
    from mjrig.scene.prop import Prop as Prop
else:
    _HOME = {"Pose": "pose", "Prop": "prop"}

    def __getattr__(name):
        if name not in _HOME:
            raise AttributeError(f"module 'mjrig.scene' has no attribute {name!r}")
        return getattr(import_module(f"mjrig.scene.{_HOME[name]}"), name)

    def __dir__():
        return sorted(_HOME)
