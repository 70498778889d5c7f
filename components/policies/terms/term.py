"""ObservationTerm: one part of an observation."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.components.policies.terms.kinds import Limits
from mjrig.components.policies.terms.sampling import NoiseKind, Sampling
from mjrig.components.policies.terms.view import View
from mjrig.errors import BindingError
from mjrig.names import suggestion
from mjrig.properties.component import Component
from mjrig.properties.declared_memory import memory_of, restore_memory
from mjrig.properties.hooks import default_hook, fills, required
from mjrig.properties.mapping_kinds import Numbers
from mjrig.properties.scalar_kinds import Choice, Int, Text


class Order(StrEnum):
    """Order of scale and clip."""

    SCALE_FIRST = "scale_then_clip"
    CLIP_FIRST = "clip_then_scale"


class Shaping(NamedTuple):
    """What happens to the values of a term after sampling, one number per value."""

    scale: FloatArray
    low: FloatArray
    high: FloatArray
    clips_first: bool


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

    #: Private attributes that change from tick to tick; without them `memory` must be written.
    _remembered: ClassVar[tuple[str, ...]] = ()
    #: Whether it reads what MuJoCo derives from the state: frames, lengths.
    needs_position_stage: ClassVar[bool] = False
    #: Whether it measures the worlds of a batch at once, indexing from the end (`[..., i]`); else
    #: a batch has a copy of it for each world, one after the other.
    over_worlds: ClassVar[bool] = False

    @required()
    def connect(self, view: View) -> int:
        """Resolve names in the model, keep `view`, and return how many values it has.

        Raises:
            BindingError: a name is not in the model.
        """
        raise NotImplementedError

    @required()
    @fills("out")
    def measure(self, out: FloatArray) -> None:
        """Write the values of this tick, in SI units, before scale and clip: (…, values)."""
        raise NotImplementedError

    def image_size(self) -> tuple[int, int] | None:
        """Hook: rows and columns of what it gives, row by row; None: it is no image."""
        return None

    def restart(self) -> None:
        """Hook: the world was reset; clear all memory."""

    def rays(self) -> FloatArray:
        """Hook: rays of the last measurement, for pictures: (n, 2, 3), start and end [m]."""
        return np.zeros((0, 2, 3))

    @default_hook
    def memory(self) -> Any:
        """Hook: what `restore` needs to continue bit-exactly, as a copy."""
        return memory_of(self)

    @default_hook
    def restore(self, memory: Any) -> None:
        """Hook: restore what `memory` returned."""
        restore_memory(self, memory)

    def _own_validate(self) -> None:
        for name in ("noise", "bias"):
            if np.any(getattr(self, name) < 0.0):
                raise self.property_named(name).error(self, "must be >= 0: it is an amplitude")

    # Sampling -----------------------------------------------------------------------------------

    @property
    def sampling_signature(self) -> tuple[object, ...]:
        """What must agree for `sampling_memory` to be restored."""
        return self.interval, self.delay, self._sampling is None

    def restart_sampling(self, keys: Sequence[tuple[int, ...]]) -> None:
        """Start noise, bias and delay over, from the random streams of the worlds' `keys`."""
        if self._sampling is not None:
            self._sampling.reset(keys)

    @property
    def sampling(self) -> Sampling | None:
        """Noise, bias, interval and delay; None: measurements are used as they are."""
        return self._sampling

    def _made_sampling(self, size: int, view: View) -> Sampling | None:
        """The sampling, or None where measurements are taken as they are."""
        noise = self._spread_over_values("noise", self.noise, size)
        bias = self._spread_over_values("bias", self.bias, size)
        if self.interval == 1 and self.delay == 0 and not noise.any() and not bias.any():
            return None
        return Sampling(view, noise, self.noise_kind, bias, self.interval, self.delay)

    # Scale and clip -----------------------------------------------------------------------------

    def shape(self, size: int, view: View) -> Shaping:
        """Spread scale, clip, noise and bias over the values.

        Raises:
            BindingError: a list of the wrong length.
        """
        self._sampling = self._made_sampling(size, view)
        scale = self._spread_over_values("scale", self.scale, size)
        low, high = np.full(size, -np.inf), np.full(size, np.inf)
        if self.clip is not None and not isinstance(self.clip, str):
            low = self._spread_over_values("clip", self.clip[0], size)
            high = self._spread_over_values("clip", self.clip[1], size)
        return Shaping(scale, low, high, self.order is Order.CLIP_FIRST)

    def _spread_over_values(self, name: str, values: FloatArray, size: int) -> FloatArray:
        if values.ndim and values.size != size:
            raise BindingError(
                f"{self.label}.{name}: must have {size} values, one per value of the term, "
                f"got {values.size}"
            )
        return np.broadcast_to(values, (size,)).astype(np.float64)

    def sampled(self, measure: Callable[[FloatArray], None]) -> Callable[[FloatArray], None]:
        """A measurement with noise, bias, interval and delay; itself where there are none."""
        sampling = self._sampling
        return measure if sampling is None else partial(sampling.take, measure)


def missing(term: ObservationTerm, what: str, name: str, names: Any) -> BindingError:
    """The error for a name the model does not have."""
    return BindingError(f"{term.label}: there is no {what} {name!r}; {suggestion(name, names)}")
