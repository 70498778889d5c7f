"""Reward: what a step of an environment is worth, as a component of the robot."""

from mjrig.core.errors import PropertyError
from mjrig.core.properties.component import ActorComponent
from mjrig.core.properties.hooks import required
from mjrig.core.sim.world import World


class Reward(ActorComponent):
    """Base of components that judge a robot in an environment; the rewards of a robot are added.

    It commands nothing, and outside of an environment it does nothing.
    """

    @required()
    def reward(self, world: World) -> float:
        """What the step that was just taken is worth."""
        raise NotImplementedError

    def is_over(self, world: World) -> bool:
        """Whether the episode ends here, as after a fall."""
        return False


def as_number(value: object, source: Reward | str) -> float:
    """A reward as a float.

    Raises:
        PropertyError: it is not a number; the message names the component or function.
    """
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        is_component = isinstance(source, Reward)
        name = f"{source.label}: {type(source).__name__}.reward" if is_component else source
        raise PropertyError(f"{name} returned {value!r}; return a number") from None
