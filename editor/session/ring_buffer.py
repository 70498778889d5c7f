"""Ring: the latest samples of one signal, written by the simulation, read by the window."""

import numpy as np

from mjrig.core.arrays import FloatArray

#: Samples kept per signal: half a minute at 1 kHz.
CAPACITY = 30_000
#: How often a reader tries again when the ring was emptied while it read.
TRIES = 3


class Ring:
    """The latest samples of one signal, in rising time; one writer, any number of readers.

    What is valid is given by one tuple (epoch, first, end), numbers of samples counted since the
    ring was empty, which the writer swaps whole: before it writes over a sample the sample is no
    longer valid, and after going back in time the epoch is another. A reader copies, looks at the
    tuple again, and drops what was overwritten meanwhile.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._values: FloatArray = np.zeros((2, capacity))
        self._valid = (0, 0, 0)
        #: (2, n) samples of the run before, from the time on to which the world was rewound.
        self.former: FloatArray = np.zeros((2, 0))

    @property
    def capacity(self) -> int:
        """How many samples it holds at most."""
        return int(self._values.shape[1])

    @property
    def count(self) -> int:
        """How many samples it holds."""
        _, first, end = self._valid
        return end - first

    def add(self, time: float, value: float) -> None:
        """Put a sample in; the oldest goes. A time that is not later drops the future first."""
        values = self._values
        epoch, first, end = self._valid
        size = values.shape[1]
        if end > first and time <= values[0, (end - 1) % size]:
            self._go_back(time)
            epoch, first, end = self._valid
        if end - first == size:
            first += 1
            self._valid = (epoch, first, end)
        values[0, end % size] = time
        values[1, end % size] = value
        self._valid = (epoch, first, end + 1)

    def clear(self) -> None:
        """Forget all samples."""
        self._valid = (self._valid[0] + 1, 0, 0)
        self.former = np.zeros((2, 0))

    def _go_back(self, time: float) -> None:
        """The world was rewound: samples from this time on are of the run before."""
        epoch, first, end = self._valid
        samples = self._copy(first, end)
        kept = int(np.searchsorted(samples[0], time))
        if end - first - kept > 1:
            self.former = samples[:, max(kept - 1, 0) :]
        self._valid = (epoch + 1, first, first + kept)

    def _copy(self, first: int, end: int) -> FloatArray:
        size = self._values.shape[1]
        a, b = first % size, end % size
        if end == first:
            return np.zeros((2, 0))
        if a < b:
            return self._values[:, a:b].copy()
        return np.concatenate([self._values[:, a:], self._values[:, :b]], axis=1)

    def ordered(self) -> FloatArray:
        """(2, n) copy, oldest first: row 0 is time, row 1 the value."""
        return self.since(-np.inf)

    def since(self, begin: float) -> FloatArray:
        """(2, n) copy of what was sampled from a time on, and of the sample before it."""
        for _ in range(TRIES):
            epoch, first, end = self._valid
            start = self._find(first, end, begin)
            copied = self._copy(start, end)
            now, valid, _ = self._valid
            if now == epoch:
                return copied[:, max(valid - start, 0) :]
        return np.zeros((2, 0))

    def _find(self, first: int, end: int, begin: float) -> int:
        """Number of the last sample before a time: a search that copies nothing."""
        times, size = self._values[0], self._values.shape[1]
        low, high = first, end
        while low < high:
            middle = (low + high) // 2
            if times[middle % size] < begin:
                low = middle + 1
            else:
                high = middle
        return max(low - 1, first)

    @property
    def newest_time(self) -> float:
        """The time of the newest sample; minus infinity if there is none."""
        _, first, end = self._valid
        return float(self._values[0, (end - 1) % self.capacity]) if end > first else float("-inf")

    @property
    def latest(self) -> float:
        """The newest value; NaN if there is none."""
        _, first, end = self._valid
        return float(self._values[1, (end - 1) % self.capacity]) if end > first else float("nan")
