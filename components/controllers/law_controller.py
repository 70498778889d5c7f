"""LawController: a controller for any registered law."""

from mjrig.components.controllers.pipeline_controller import PipelineController
from mjrig.components.laws.law import Law
from mjrig.errors import PropertyError


class LawController(PipelineController):
    """τ = the law given as `law`, clamped  [N·m or N]."""

    def make_law(self) -> Law:
        raise PropertyError(
            f"{self.label}.law: needs a law, as in law: {{type: PD, kp: 40}}", ("law",)
        )
