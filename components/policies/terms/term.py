"""ObservationTerm: one part of an observation."""

from enum import StrEnum
from typing import Any, ClassVar

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.components.policies.terms.kinds import Limits
from mjrig.components.policies.terms.sampling import NoiseKind, Sampling
from mjrig.components.policies.terms.view import View
from mjrig.errors import BindingError
from mjrig.names import suggestion
from mjrig.properties.component import Component
from mjrig.properties.mapping_kinds import Numbers
from mjrig.properties.scalar_kinds import Choice, Int, Text


class Order(StrEnum):
    """Order of scale and clip."""

    SCALE_FIRST = "scale_then_clip"
    CLIP_FIRST = "clip_then_scale"


class ObservationTerm(Component):
    """One part of an observation: `value = clip(scale · sampled)`, or clip first.

    A subclass returns its size and writes its measurement. The rest is applied in this order:
    bias and noise, interval, delay, scale and clip, history.
    """

    scale = Numbers(1.0, doc="Factor: one number, or one per value.")
    clip = Limits(each=True, doc="Clip bound: c for ±c, or [low, high].")
    order = Choice(Order.SCALE_FIRST, doc="Order of scale and clip.")
    input = Text("", doc="Network input that takes it; empty: that of the observation.")
    history = Int(0, min=0, max=1000, doc="Values kept, this one included; 0: as the observation.")
    noise = Numbers(
        0.0,
        category="Sampling",
        doc="Noise of every sample, before scale and clip: ± this, or its standard deviation; "
        "one number, or one per value.",
    )
    noise_kind = Choice(
        NoiseKind.UNIFORM,
        category="Sampling",
        doc="uniform: evenly in ±noise; gaussian: noise is the standard deviation.",
    )
    bias = Numbers(
        0.0,
        category="Sampling",
        doc="A constant error, drawn evenly from ± this at every reset; one number, or one per "
        "value.",
    )
    interval = Int(
        1,
        min=1,
        max=100_000,
        unit="ticks",
        category="Sampling",
        doc="Ticks from one sample to the next; held in between.",
    )
    delay = Int(
        0, min=0, max=1000, unit="ticks", category="Sampling", doc="Age of the sample it gives."
    )

    #: Whether it reads what MuJoCo derives from the state: frames, lengths.
    needs_position_stage: ClassVar[bool] = False

    def connect(self, view: View) -> int:
        """Resolve names in the model, keep `view`, and return how many values it has.

        Raises:
            BindingError: a name is not in the model.
        """
        raise NotImplementedError

    def measure(self, out: FloatArray) -> None:
        """Write the values of this tick, in SI units, before scale and clip."""
        raise NotImplementedError

    def image_size(self) -> tuple[int, int] | None:
        """Hook: rows and columns of what it gives, row by row; None: it is no image."""
        return None

    def restart(self) -> None:
        """Hook: the world was reset; clear all memory."""

    def rays(self) -> FloatArray:
        """Hook: rays of the last measurement, for pictures: (n, 2, 3), start and end [m]."""
        return np.zeros((0, 2, 3))

    def memory(self) -> Any:
        """Hook: what `restore` needs to continue bit-exactly, as a copy."""
        return None

    def restore(self, memory: Any) -> None:
        """Hook: restore what `memory` returned."""

    def _own_validate(self) -> None:
        for name in ("noise", "bias"):
            if np.any(getattr(self, name) < 0.0):
                raise self.property_named(name).error(self, "must be >= 0: it is an amplitude")

    # Sampling -----------------------------------------------------------------------------------

    @property
    def sampling_signature(self) -> tuple[object, ...]:
        """What must agree for `sampling_memory` to be restored."""
        return self.interval, self.delay, self._sampling is None

    def restart_sampling(self, key: tuple[int, ...]) -> None:
        """Start noise, bias and delay over, from the random stream of `key`."""
        if self._sampling is not None:
            self._sampling.reset(key)

    def sampling_memory(self) -> Any:
        """What `restore_sampling` needs to continue bit-exactly, as a copy."""
        return None if self._sampling is None else self._sampling.memory()

    def restore_sampling(self, memory: Any) -> None:
        """Restore what `sampling_memory` returned."""
        if self._sampling is not None:
            self._sampling.restore(memory)

    def _made_sampling(self, size: int) -> Sampling | None:
        """The sampling, or None where measurements are taken as they are."""
        noise = self._spread_over_values("noise", self.noise, size)
        bias = self._spread_over_values("bias", self.bias, size)
        if self.interval == 1 and self.delay == 0 and not noise.any() and not bias.any():
            return None
        return Sampling(noise, self.noise_kind, bias, self.interval, self.delay, (0,))

    # Scale and clip -----------------------------------------------------------------------------

    def shape(self, size: int) -> None:
        """Spread scale, clip, noise and bias over the values.

        Raises:
            BindingError: a list of the wrong length.
        """
        self._sampling = self._made_sampling(size)
        self._scale = self._spread_over_values("scale", self.scale, size)
        self._plain = not np.any(self._scale != 1.0)
        self._low = self._high = None
        if self.clip is not None and not isinstance(self.clip, str):
            self._low = self._spread_over_values("clip", self.clip[0], size)
            self._high = self._spread_over_values("clip", self.clip[1], size)

    def _spread_over_values(self, name: str, values: FloatArray, size: int) -> FloatArray:
        if values.ndim and values.size != size:
            raise BindingError(
                f"{self.label}.{name}: must have {size} values, one per value of the term, "
                f"got {values.size}"
            )
        return np.broadcast_to(values, (size,)).astype(np.float64)

    def value(self, out: FloatArray) -> None:
        """Write the scaled and clipped values of this tick."""
        if self._sampling is None:
            self.measure(out)
        else:
            self._sampling.take(self.measure, out)
        first = self.order is Order.CLIP_FIRST
        if self._low is not None and first:
            np.clip(out, self._low, self._high, out=out)
        if not self._plain:
            np.multiply(out, self._scale, out=out)
        if self._low is not None and not first:
            np.clip(out, self._low, self._high, out=out)


def missing(term: ObservationTerm, what: str, name: str, names: Any) -> BindingError:
    """The error for a name the model does not have."""
    return BindingError(f"{term.label}: there is no {what} {name!r}; {suggestion(name, names)}")
