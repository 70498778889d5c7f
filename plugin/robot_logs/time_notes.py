"""What is said about the times of a log: lost samples, clocks, commands that end early."""

from collections.abc import Iterable, Iterator, Sequence

from mjrig.names import how_many
from mjrig.robot_logs.alignment import Effect
from mjrig.robot_logs.clocks import Timed
from mjrig.robot_logs.quantities import JointTable

#: Commands end before the states if that is by more than this [s], and so many of their periods.
EARLY, PERIODS = 0.2, 20


def samples_said(state: Timed, every: Iterable[Timed], segments: int) -> Iterator[str]:
    """Samples of the states that are missing, and what was put right in any topic."""
    if state.lost:
        lost, places = how_many(state.lost, "sample"), how_many(state.holes, "place")
        yield f"{state.name}: {lost} lost in {places}"
    if segments > 1:
        yield (
            f"{how_many(segments - 1, 'gap')} of more than a few samples: "
            f"{how_many(segments, 'segment')}"
        )
    for topic in every:
        if topic.doubled:
            said = how_many(topic.doubled, "sample")
            yield f"{topic.name}: {said} with the stamp of the one before left out"
        if topic.overtaken:
            said = how_many(topic.overtaken, "sample")
            yield f"{topic.name}: {said} had been overtaken, put in order"


def clocks_said(every: Iterable[Timed]) -> Iterator[str]:
    """The clock of each sender against the recorder's."""
    for when in every:
        clock = when.clock
        if clock.offset is not None:
            where, taken = ("ahead of", "less") if clock.offset >= 0.0 else ("behind", "including")
            yield (
                f"{when.name}: its clock is {abs(clock.offset) * 1e3:.2f} ± "
                f"{clock.error * 1e3:.2f} ms {where} the recorder's, {taken} what the fastest "
                "message took"
            )


def ends_said(commands: Iterable[JointTable], positions: Sequence[JointTable]) -> Iterator[str]:
    """Commands that end clearly before the states, in seconds after the first state."""
    zero = float(positions[0].time[0])
    last = min(float(table.time[-1]) for table in positions)
    for table in commands:
        end = float(table.time[-1])
        if last - end > max(EARLY, PERIODS * table.timed.usual):
            yield (
                f"commands of {table.timed.name} end at {end - zero:.2f} s, states at "
                f"{last - zero:.2f} s: the last one is held"
            )


def effect_said(effect: Effect, timestep: float) -> tuple[float, str]:
    """By how much commands are moved so that they act at whole steps [s], and why."""
    said = (
        f"commands act {effect.delay * 1e3:.2f} ± {effect.error * 1e3:.2f} ms after their "
        f"stamp, by the efforts of {how_many(effect.joints, 'joint')} (clock offset and delay "
        "together)"
    )
    each = f"of {timestep * 1e3:g} ms"
    if effect.rows:
        return 0.0, f"{said}: rows tell to ± {effect.rows * 1e3:g} ms when they came"
    if effect.error > 0.5 * timestep:
        return 0.0, f"{said}: too uncertain to move them within steps {each}"
    steps = round(effect.delay / timestep)
    offset = effect.delay - steps * timestep
    if abs(offset) < 0.1 * effect.error:
        return 0.0, f"{said}: {how_many(steps, 'step')} {each}"
    return offset, (
        f"{said}: {how_many(steps, 'step')} {each} and {offset * 1e3:.2f} ms, by which they are "
        "moved"
    )
