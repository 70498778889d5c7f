"""Writers: the programs that command over DDS, told apart by their DDS writers."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

#: Samples of the first so many seconds determine the offset of a writer's clock, and no fewer
#: than this number: in a shorter time every sample could be delayed by the same queue.
WINDOW_S, MIN_SAMPLES = 1.0, 5
#: Smaller offsets are not corrected: usual delays, and clocks that NTP keeps together [s].
NOTICEABLE_S = 0.05
#: Largest drift between two clocks that run freely, 0.2 ms/s: twice that of common crystals. An
#: age that grows faster is a queue that fills.
MAX_DRIFT = 2e-4
#: Writers that are remembered; the one that was silent for longest makes room.
MAX_WRITERS = 1000
#: Programs whose commands are so close together command at the same time [s].
TOGETHER_S = 1.0


@dataclass(slots=True)
class OlderSamples:
    """Samples of a writer that are older than its last one, but in order among themselves."""

    began: int
    last: int
    smallest: int
    samples: int = 1


@dataclass(slots=True)
class DdsWriter:
    """What is known about one; times in ns, `offset` and `smallest` as received − sent."""

    handle: int
    last: int
    window_began: int
    smallest: int
    samples: int = 0
    offset: int = 0
    is_estimated: bool = False
    #: Since the last sample that is newer than all before; None: none came since.
    older: OlderSamples | None = None


class Writers:
    """Rejects samples that come twice, out of order or too late; notices programs that compete.

    Age is judged by the sender's clock. Its constant offset is the smallest received − sent in the
    first `WINDOW_S`, which a constant latency cannot be distinguished from. Later the offset falls
    at once, and rises no faster than clocks drift: an age that grows is still noticed. A sender
    whose samples are all older than before for `WINDOW_S`, and in order, has set its clock back.

    Args:
        max_age: oldest sample that is used [s].
        shared_clock: senders have the clock of this machine; no offset is estimated.
        name_of: the name of the program behind a writer, for people.
    """

    def __init__(
        self, max_age: float, *, shared_clock: bool = False, name_of: Callable[[int], str] = str
    ) -> None:
        self._max_age = math.inf if math.isinf(max_age) else max_age * 1e9
        self._shared, self._name_of = shared_clock, name_of
        self._writers: dict[int, DdsWriter] = {}
        self._lead = time.time_ns() - time.monotonic_ns()
        #: By writer: when it last commanded [ns], and where; only those of the last `TOGETHER_S`.
        self._commands: dict[int, tuple[int, str]] = {}
        self._compared: set[frozenset[int]] = set()
        #: Things to report as events; whoever reports them empties the list.
        self.notes: list[str] = []

    def now(self) -> int:
        """The time of this machine [ns]; estimated offsets survive when its clock is set."""
        return time.time_ns() if self._shared else time.monotonic_ns() + self._lead

    def check(self, handle: int, sent: int, now: int) -> None:
        """Note a sample of a writer, sent and received at these times [ns].

        Raises:
            ValueError: it must not be used.
        """
        writer = self._writers.pop(handle, None)
        if writer is None:
            if len(self._writers) >= MAX_WRITERS:
                del self._writers[next(iter(self._writers))]
            writer = DdsWriter(handle, sent - 1, now, now - sent)
        self._writers[handle] = writer  # the last heard of is the last of the dict
        if sent > writer.last:
            writer.older = None
        elif self._is_set_back(writer, sent, now):
            writer = self._writers[handle] = self._restarted(writer, sent, now)
        else:
            problem = "a duplicate" if sent == writer.last else "out of order"
            before = (writer.last - sent) / 1e6
            raise ValueError(f"it is {problem}: sent {before:.3f} ms before the last one")
        delay = now - sent
        if not self._shared:
            self._estimate(writer, delay, now)
        age = delay - writer.offset
        if age > self._max_age:
            raise ValueError(
                f"it is late: sent {age / 1e9:.3f} s ago by its sender's clock, "
                f"max_age is {self._max_age / 1e9:g} s"
            )
        writer.last = sent

    @staticmethod
    def _is_set_back(writer: DdsWriter, sent: int, now: int) -> bool:
        """Note a sample that is older than the last one; whether its sender's clock was set back.

        Single late samples of a queue are not followed by others, in order, for so long.
        """
        older = writer.older
        if older is None or sent <= older.last:
            writer.older = OlderSamples(now, sent, now - sent)
            return False
        older.last, older.smallest = sent, min(older.smallest, now - sent)
        older.samples += 1
        return now - older.began >= WINDOW_S * 1e9 and older.samples >= MIN_SAMPLES

    def _restarted(self, writer: DdsWriter, sent: int, now: int) -> DdsWriter:
        """A writer whose clock was set back."""
        assert writer.older is not None
        smallest = writer.older.smallest
        is_corrected = not self._shared and abs(smallest) > NOTICEABLE_S * 1e9
        self.notes.append(
            f"the clock of {self._name_of(writer.handle)} was set back by "
            f"{(smallest - writer.offset) / 1e9:.3f} s; its commands are used again"
        )
        offset = smallest if is_corrected else 0
        return DdsWriter(writer.handle, sent - 1, now, now - sent, offset=offset, is_estimated=True)

    def _estimate(self, writer: DdsWriter, delay: int, now: int) -> None:
        writer.smallest = min(writer.smallest, delay)
        writer.samples += 1
        elapsed = now - writer.window_began
        if elapsed < WINDOW_S * 1e9 or writer.samples < MIN_SAMPLES:
            # No sample is received before it is sent.
            writer.offset = min(writer.offset, delay)
            return
        if writer.is_estimated:
            drifted = writer.offset + round(MAX_DRIFT * elapsed)
            writer.offset = min(writer.smallest, drifted)
        else:
            writer.is_estimated = True
            writer.offset = writer.smallest if abs(writer.smallest) > NOTICEABLE_S * 1e9 else 0
            if writer.offset:
                self._report_offset(writer)
        writer.window_began, writer.smallest, writer.samples = now, delay, 0

    def _report_offset(self, writer: DdsWriter) -> None:
        seconds = writer.offset / 1e9
        direction = "behind, or its commands take that long" if seconds > 0 else "ahead"
        self.notes.append(
            f"the clock of {self._name_of(writer.handle)} is {abs(seconds):.3f} s {direction}; "
            "the ages of its commands are corrected by that (clock: shared switches it off)"
        )

    def commanded(self, handle: int, topic: str, now: int) -> None:
        """Note a valid command; programs whose commands interrupt each other are reported."""
        commands = self._commands
        before = commands.pop(handle, None)
        for other, (at, place) in tuple(commands.items()):
            if now - at >= TOGETHER_S * 1e9:
                del commands[other]
            elif before is not None and before[0] <= at and now - before[0] < TOGETHER_S * 1e9:
                self._compare((other, place), (handle, topic))
        commands[handle] = now, topic  # the last of the dict is the last that commanded

    def _compare(self, one: tuple[int, str], other: tuple[int, str]) -> None:
        """Report two writers once, unless they are at two topics of one program."""
        pair = frozenset((one[0], other[0]))
        if pair in self._compared:
            return
        if len(self._compared) >= MAX_WRITERS:
            self._compared.clear()
        self._compared.add(pair)
        names = self._name_of(one[0]), self._name_of(other[0])
        if one[1] == other[1]:
            programs = f"at {one[1]}: {names[0]} and {names[1]}"
        elif names[0] != names[1]:
            programs = f"one robot: {names[0]} at {one[1]} and {names[1]} at {other[1]}"
        else:
            return
        self.notes.append(
            f"2 programs command {programs}; every command is used, so that they compete"
        )
