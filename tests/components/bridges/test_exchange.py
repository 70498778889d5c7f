"""Exchange: frames in shared memory, within a process and between two."""

import random
import subprocess
import sys

import numpy as np
import pytest

from mjrig.components.bridges.dds.exchange import KEPT, Exchange, memory_of
from tests.campaign import Tally
from tests.patience import PATIENCE

ECHO = """
import sys, time
from mjrig.components.bridges.dds.exchange import Exchange
both = Exchange(4, 4, int(sys.argv[1]))
print("ready", flush=True)
end = time.monotonic() + 30.0
while time.monotonic() < end:
    for frame in both.states.unread():
        both.commands.write(frame)
        if frame[0] < 0.0:
            raise SystemExit
"""


@pytest.mark.campaign
def test_a_reader_gets_the_newest_frames_in_order_whole_and_once(tally: Tally) -> None:
    both = Exchange(5, 1)
    ring = both.states
    written, read = 0, -1
    for rng in tally.cases("frames", 200, 20_000):
        for _ in range(rng.randint(0, 2 * KEPT)):
            n = rng.randint(1, 5)
            ring.write(memory_of(np.full(n, float(written))))
            written += 1
        if rng.random() < 0.7:
            news = ring.has_news()
            found = [np.array(frame) for frame in ring.unread()]
            numbers = [int(frame[0]) for frame in found]
            expected = list(range(max(read + 1, written - KEPT + 1), written))
            if numbers != expected or news != (written - 1 > read):
                tally.found(f"{numbers} instead of {expected}")
            assert all(np.all(frame == frame[0]) for frame in found)
            read = written - 1
            assert not ring.has_news() and list(ring.unread()) == []
    both.release_file()


def test_a_frame_that_does_not_fit_is_refused() -> None:
    both = Exchange(3, 1)
    with pytest.raises(ValueError, match="it has 4 numbers; 3 fit"):
        both.states.write(memory_of(np.zeros(4)))
    assert not both.states.has_news()
    both.release_file()


def test_another_process_sees_them_and_answers() -> None:
    both, rng = Exchange(4, 4), random.Random(2)
    command = [sys.executable, "-c", ECHO, str(both.file)]
    process = subprocess.Popen(command, pass_fds=[both.file], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        sent = [np.array([rng.random() for _ in range(4)]) for _ in range(KEPT - 2)]
        for frame in [*sent, np.array([-1.0])]:
            both.states.write(memory_of(frame))
        assert process.wait(PATIENCE) == 0
        answers = [np.array(frame) for frame in both.commands.unread()]
        assert [a.tolist() for a in answers] == [*(s.tolist() for s in sent), [-1.0]]
    finally:
        process.kill()
        process.communicate()
        both.release_file()
