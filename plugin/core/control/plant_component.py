"""PlantComponent: a part of the robot's physics that MuJoCo lacks."""

from mjrig.core.control.execution import Execution, Support
from mjrig.core.properties.component import ActorComponent


class PlantComponent(ActorComponent):
    """Computes physics before every step and commands nothing.

    It stays where components that command are left out, as in tests of gains.
    """

    _execution: Execution

    def prepare(self) -> None:
        self._execution = Execution("python", "the default")

    @property
    def execution(self) -> Execution:
        """Its execution mode, and why that was chosen."""
        return self._execution

    def supports(self) -> dict[str, Support]:
        """The execution modes that can run it, with reasons."""
        no = Support(False, f"{type(self).__name__} is written in Python")
        return {"python": Support(True, "the reference"), "compiled": no, "native": no}

    def take_forces(self) -> None:
        """Hook: read the forces of the last step, before the next one replaces them.

        Called where a step has two stages: `before_controls` comes after the first of them then.
        """

    def run_as(self, execution: Execution) -> None:
        """Hook: switch to this execution mode."""
        self._execution = execution
