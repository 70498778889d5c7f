"""Rhythm: a reader that sleeps between states that come steadily sees each of them soon."""

import random

import pytest

from mjrig.components.bridges.dds.exchange import IDLE, SILENCE, SOON, Rhythm

#: States at the beginning, after which the rhythm has to be known.
_LEARNT = 20


def looks(
    rng: random.Random, period: float, stalls: float, states: int = 400
) -> tuple[list[float], int]:
    """How long after it came each state was seen that no stall hid, and the looks per state.

    The reader looks when it wants to, or later: a share `stalls` of the times the system wakes it
    up to 4 ms late.
    """
    rhythm, now, seen, looked, delays = Rhythm(), 0.0, 0, 0, []
    came = [k * period + rng.uniform(0.0, 0.1 * period) for k in range(states)]
    while seen < states:
        stall = rng.uniform(0.001, 0.004) if rng.random() < stalls else 0.0
        wanted = now + rhythm.nap(now)
        now = wanted + stall
        looked += 1
        news = [t for t in came[seen : seen + 16] if t <= now]
        if news:
            if seen > _LEARNT:  # what a stall adds is nobody's fault but the system's
                delays += [now - t - stall for t in news if t <= wanted]
            seen += len(news)
            rhythm.found(now)
    return delays, looked


@pytest.mark.parametrize("period", [0.001, 0.002, 0.005, 0.02])
def test_every_state_is_seen_soon_whatever_was_late_before(period: float) -> None:
    for seed in range(5):
        delays, looked = looks(random.Random(seed), period, 0.0)
        assert max(delays) < SOON + 1e-9
        # The sleep is what keeps a core free: looking all the time would be period / SOON.
        assert looked / 400 < 0.8 * period / SOON
        late, _ = looks(random.Random(seed), period, 0.03)
        assert max(late) < 0.001, "a delay of the system made later states late"


def test_where_nothing_comes_looks_are_rare_and_a_new_rhythm_is_learnt() -> None:
    rhythm = Rhythm()
    assert rhythm.nap(0.0) == IDLE
    for k in range(50):
        rhythm.found(0.002 * k)
    assert SOON < rhythm.nap(0.098) < 0.002
    assert rhythm.nap(0.098 + 2 * SILENCE) == IDLE
    for k in range(50):  # slower than before
        rhythm.found(1.0 + 0.004 * k)
    assert 0.002 < rhythm.nap(1.196) < 0.004
