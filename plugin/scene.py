"""The scene description: the content of a scene file, without a MuJoCo model.

`Prop` is the base class of custom props; `Pose` places an actor.
"""

from typing import TYPE_CHECKING

from mjrig.core.lazy_exports import exports

if TYPE_CHECKING:
    from mjrig.core.scene.actor_description import Prop as Prop
    from mjrig.core.scene.pose import Pose as Pose

_HOME = {"Pose": "core.scene.pose", "Prop": "core.scene.actor_description"}

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(__name__, _HOME)
