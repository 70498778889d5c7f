"""Writers: clocks that differ, ages that grow, and programs that compete."""

from collections.abc import Iterator

import pytest

from mjrig.components.bridges.dds.writers import MAX_DRIFT, MAX_WRITERS, Writers
from tests.campaign import Tally
from tests.components.bridges.unitree_client import Client
from tests.places import SCENES

NOW = 10**18
MS = 10**6


def outcomes(writers: Writers, offset: float, ages: Iterator[float]) -> list[bool]:
    """Whether samples every 10 ms are used; the sender's clock is `offset` seconds behind."""
    used = []
    for number, age in enumerate(ages):
        now = NOW + number * 10 * MS
        try:
            writers.check(1, now - round((offset + age) * 1e9), now)
        except ValueError:
            used.append(False)
        else:
            used.append(True)
    return used


@pytest.mark.parametrize("offset", [-3600.0, -2.0, 0.6, 2.0, 1.7e9 / 2])
def test_a_constant_offset_is_corrected_and_reported_once(offset: float) -> None:
    writers = Writers(0.5, name_of=lambda _: "a program")
    used = outcomes(writers, offset, (0.001 + 0.004 * (k % 3) for k in range(1000)))
    assert all(used[101:])
    (note,) = writers.notes
    direction = "behind, or its commands take that long" if offset > 0 else "ahead"
    assert f"the clock of a program is {abs(offset + 0.001):.3f} s {direction}" in note
    assert "clock: shared" in note


def test_before_the_offset_is_determined_a_late_command_is_not_used() -> None:
    used = outcomes(Writers(0.5), 2.0, (0.001 for _ in range(200)))
    assert not any(used[:100]) and all(used[101:])


def test_with_a_shared_clock_nothing_is_corrected() -> None:
    writers = Writers(0.5, shared_clock=True)
    assert not any(outcomes(writers, 2.0, (0.0 for _ in range(500)))) and not writers.notes


@pytest.mark.parametrize("offset", [0.0, 2.0, -2.0])
@pytest.mark.parametrize("growth", [0.001, 0.01, 0.1])
def test_an_age_that_grows_is_rejected(offset: float, growth: float) -> None:
    """Growth in seconds per second: a queue that fills, however slowly."""
    writers = Writers(0.5)
    samples = round(100 * (0.5 / (growth - MAX_DRIFT) + 20.0))
    used = outcomes(writers, offset, (growth * 0.01 * k for k in range(samples)))
    assert any(used) and not any(used[-1000:])


@pytest.mark.parametrize("drift", [1e-4, -1e-4])
def test_clocks_that_drift_as_crystals_do_stay_together(drift: float) -> None:
    """Three hours in which they drift apart by 1.1 s."""
    writers, used = Writers(0.5), []
    for number in range(3 * 3600 * 6):
        now = NOW + number * 166 * MS
        offset = 2.0 + drift * (now - NOW) / 1e9
        used += outcomes_at(writers, now, offset)
    assert all(used[12:])


def outcomes_at(writers: Writers, now: int, delay: float) -> list[bool]:
    try:
        writers.check(1, now - round(delay * 1e9), now)
    except ValueError:
        return [False]
    return [True]


def test_the_message_names_the_limit() -> None:
    writers = Writers(0.25)
    writers.check(1, NOW - 1, NOW)
    with pytest.raises(
        ValueError, match=r"sent 0\.300 s ago by its sender's clock, max_age is 0\.25 s"
    ):
        writers.check(1, NOW, NOW + 300 * MS)
    Writers(float("inf")).check(1, 0, NOW)


def test_writers_that_come_and_go_are_forgotten_and_the_others_are_not() -> None:
    writers = Writers(0.5)
    for number in range(3 * MAX_WRITERS):
        writers.check(number + 2, NOW, NOW)
        writers.check(1, NOW + number, NOW + number)
    assert len(writers._writers) <= MAX_WRITERS
    with pytest.raises(ValueError, match="a duplicate"):
        writers.check(1, NOW + 3 * MAX_WRITERS - 1, NOW)


@pytest.mark.campaign
def test_late_commands_are_late_whatever_the_clock(tally: Tally) -> None:
    """After the offset is determined, a delay beyond it counts as it would with one clock."""
    for rng in tally.cases("clocks of senders", 100, 20_000):
        offset = rng.choice([0.0, 1.0, -1.0]) * 10 ** rng.uniform(-1.5, 9.0)
        writers, now = Writers(0.5), NOW
        for _ in range(110):
            now += 10 * MS
            outcomes_at(writers, now, offset + rng.expovariate(100.0) * 0.1)
        for age in rng.sample([0.0, 0.01, 0.3, 0.42, 0.6, 1.0, 100.0], 3):
            now += 200_000 * MS  # after a pause, none is out of order
            expected = age < 0.5
            if outcomes_at(writers, now, offset + age) != [expected]:
                tally.found(f"offset {offset}, age {age}: expected {expected}")


# Clocks that are set -----------------------------------------------------------------------------


@pytest.mark.parametrize("step", [0.02, 0.3, 10.0, 1e6])
@pytest.mark.parametrize("offset", [0.0, 5.0, -5.0])
def test_a_clock_that_is_set_back_costs_a_second_of_commands(offset: float, step: float) -> None:
    writers = Writers(0.5, name_of=lambda _: "a program")
    delays = [0.002 + (step if k >= 300 else 0.0) for k in range(700)]
    used = outcomes(writers, offset, iter(delays))
    assert all(used[110:300]) and all(used[402:])
    if step < 0.5:  # it catches up
        return
    (note,) = [n for n in writers.notes if "set back" in n]
    amount = float(note.split("the clock of a program was set back by ")[1].split()[0])
    assert abs(amount - step) < 0.01 and "its commands are used again" in note


def test_with_a_shared_clock_one_that_is_set_back_is_late() -> None:
    writers = Writers(0.5, shared_clock=True)
    used = outcomes(writers, 0.0, iter([10.0 if k >= 300 else 0.0 for k in range(700)]))
    assert all(used[:300]) and not any(used[300:])


def test_old_samples_between_new_ones_stay_out_of_order() -> None:
    writers, used = Writers(0.5), []
    for number in range(1000):
        now = NOW + number * 10 * MS
        assert outcomes_at(writers, now, 0.002) == [True]
        used += outcomes_at(writers, now + MS, 0.303)
    assert not any(used) and writers.notes == []


def test_a_burst_of_old_samples_after_silence_is_not_used() -> None:
    writers = Writers(0.5)
    outcomes(writers, 0.0, iter([0.001] * 300))
    now, burst = NOW + 20_000 * MS, []
    for number in range(200):
        sent = NOW + number * 10 * MS
        burst += outcomes_at(writers, now + number * MS, (now + number * MS - sent) / 1e9)
    assert not any(burst)


# Programs that compete --------------------------------------------------------------------------


@pytest.fixture
def client() -> Iterator[Client]:
    program = Client(SCENES / "quadruped.yaml", "go2")
    with program.serving:
        yield program


def command(client: Client, writer: int) -> None:
    message = client.commands.encode(client.command(q=0.1, kp=40.0, kd=1.0))
    client.link.say("rt/lowcmd", message, writer)
    client.serving.advance(2)


def competing(client: Client) -> list[str]:
    messages = [e.message for e in client.world.events]
    return [m for m in messages if "programs command at" in m]


def test_two_programs_at_one_topic_are_reported_by_name(client: Client) -> None:
    for writer in (1, 2, 1, 2, 1):
        command(client, writer)
    (event,) = competing(client)
    assert "2 programs command at rt/lowcmd: writer 2 and writer 1" in event
    for writer in (3, 1, 3, 2, 3):
        command(client, writer)
    assert [e.split(": ")[2].split(";")[0] for e in competing(client)[1:]] == [
        "writer 3 and writer 1",
        "writer 3 and writer 2",
    ]


@pytest.mark.parametrize("names", [{1: "a", 2: "b"}, {1: "a", 2: "a"}], ids=["two", "one"])
@pytest.mark.parametrize("first_only", [1, 3])
def test_programs_at_different_topics_of_a_robot_are_reported(
    names: dict[int, str], first_only: int
) -> None:
    """Also if one of them sends several commands for each of the other."""
    writers = Writers(0.5, name_of=names.__getitem__)
    topics = {1: "/joint_commands", 2: "/joint_controller/commands"}
    for number, writer in enumerate((*[1] * first_only, 2) * 4):
        writers.commanded(writer, topics[writer], NOW + number * 10 * MS)
    if names[1] == names[2]:  # one program may use several topics
        assert writers.notes == []
        return
    (note,) = writers.notes
    assert "a at /joint_commands" in note and "b at /joint_controller/commands" in note
    assert note.startswith("2 programs command one robot: ")


def test_three_programs_in_turn_are_all_reported() -> None:
    writers = Writers(0.5)
    for number in range(9):
        writers.commanded(number % 3, f"topic {number % 3}", NOW + number * 10 * MS)
    assert len(writers.notes) == 3
    assert len(writers._commands) == 3
    writers.commanded(7, "topic", NOW + 10**10)
    assert list(writers._commands) == [7]


def test_a_program_after_another_does_not_compete(client: Client) -> None:
    for writer in (1, 1, 2, 2, 3):
        command(client, writer)
    assert competing(client) == []
