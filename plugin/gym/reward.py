"""Reward: what a step of an environment is worth, as a component of the robot."""

from mjrig.properties.component import ActorComponent
from mjrig.sim.world import World


class Reward(ActorComponent):
    """Base of components that judge a robot in an environment; the rewards of a robot are added.

    It commands nothing, and outside of an environment it does nothing.
    """

    def reward(self, world: World) -> float:
        """What the step that was just taken is worth."""
        raise NotImplementedError

    def is_over(self, world: World) -> bool:
        """Whether the episode ends here, as after a fall."""
        return False
