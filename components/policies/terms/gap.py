"""Gap: a part of an observation that is still to be written."""

from mjrig.arrays import FloatArray
from mjrig.components.policies.terms.term import ObservationTerm
from mjrig.components.policies.terms.view import View
from mjrig.errors import BindingError
from mjrig.names import how_many
from mjrig.properties.scalar_kinds import Int, Text


class Gap(ObservationTerm):
    """A part of the observation that no file describes: the policy does not run until it is filled.

    An import writes it where the observation is in the code of the training.
    """

    size = Int(0, min=0, unit="values", doc="Values that are missing; 0: unknown.")
    about = Text("", doc="What is known of it.")

    def connect(self, view: View) -> int:
        size = how_many(self.size, "value") if self.size else "an unknown number of values"
        raise BindingError(
            f"{self.label}: the policy file has a gap of {size} ({self.about}); replace it by the "
            "terms the network was trained with (docs/policies.md)"
        )

    def measure(self, out: FloatArray) -> None:
        raise NotImplementedError
