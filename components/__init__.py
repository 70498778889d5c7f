"""What can be put on an actor."""

from mjrig.components.passthrough_controller import PassthroughController
from mjrig.components.pd_controller import PDController
from mjrig.components.trot_gait import TrotGait
from mjrig.controller import ArticulationController

__all__ = ["ArticulationController", "PDController", "PassthroughController", "TrotGait"]
