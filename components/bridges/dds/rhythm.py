"""Rhythm: when to look for the next of something that comes at a steady rate."""

#: Time between two looks for what is due, and between two while nothing comes [s].
SOON, IDLE = 0.0001, 0.002
#: After so long without anything nothing is expected any more [s].
SILENCE = 0.05
#: How long before it is due the looking begins, as a part of the period.
_EARLY = 0.3
#: How fast a period that seems too short, and a time that seems too early, are given up.
_LENGTHENED, _DELAYED = 0.02, 0.1


class Rhythm:
    """Sleeps through most of the time between two states; nobody has to wake the reader.

    A state that is found late says nothing about the next one: the world's clock goes on. So
    lateness moves the next look only a little, or one delay would make the following states late
    as well.
    """

    def __init__(self) -> None:
        self._found = -1e9
        #: When the last state came, as far as that can be told, and the time between two [s].
        self._came, self._period = -1e9, 0.0

    def found(self, now: float) -> None:
        """A state was there."""
        is_first, self._found = now - self._found > SILENCE, now
        if is_first or not self._period:
            self._period = 0.0 if is_first else now - self._came
            self._came = now
            return
        self._period += min(now - self._came - self._period, _LENGTHENED * self._period)
        due = self._came + self._period
        self._came = min(now, due + _DELAYED * (now - due))

    def nap(self, now: float) -> float:
        """How long to sleep before the next look."""
        if now - self._found > SILENCE:
            return IDLE
        return max(self._came + (1.0 - _EARLY) * self._period - now, SOON)
