"""Gymnasium environments of scenes; needs the extra `gym`."""

from typing import TYPE_CHECKING

from mjrig.lazy import exports

if TYPE_CHECKING:
    from mjrig.gym.reward import Reward as Reward
    from mjrig.gym.scene_env import SceneEnv as SceneEnv

_HOME = {"Reward": "gym.reward", "SceneEnv": "gym.scene_env"}

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(__name__, _HOME)
