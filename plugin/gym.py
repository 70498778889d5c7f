"""Gymnasium environments of scenes; needs the extra `gym`."""

from typing import TYPE_CHECKING

from mjrig.core.lazy_exports import exports

if TYPE_CHECKING:
    from mjrig.data.gym.scene_env import Reward as Reward
    from mjrig.data.gym.scene_env import SceneEnv as SceneEnv

_HOME = {"Reward": "data.gym.scene_env", "SceneEnv": "data.gym.scene_env"}

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(__name__, _HOME)
