"""Mistakes in how a recording was made or read: orders, signs, units, times, what it lists."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import mjrig
from mjrig.core.control.plant import Plant
from mjrig.data.recording.readers import read_recording
from mjrig.data.recording.recording import ActorRecording, Recording
from mjrig.lab.replay.diagnosis.order_hypotheses import (
    mirrored,
    shifted,
    with_quaternions,
    with_signs,
)
from tests.plugin.lab.replay.sabotage.fixtures import Fixture
from tests.plugin.lab.replay.sabotage.sabotaged import Mistake, Sabotaged, plain
from tests.plugin.lab.replay.sabotage.world_mistakes import limit


def limited_there(fixture: Fixture, folder: Path) -> Sabotaged | None:
    """The run was recorded with a limit that is not here."""
    tight = limit(fixture, folder)
    if tight is None:
        return None
    world, path = mjrig.World(tight.scene), folder / "limited.npz"
    with mjrig.TargetsPlayer(fixture.recording, world) as player:
        player.start()
        with mjrig.Recorder(world, path):
            world.step(min(player.steps, round(2.0 / world.timestep)))
    case = plain(fixture)
    case.recording = read_recording(path, None)
    return case


def order(sides: str, change: Callable[..., Recording]) -> Mistake:
    def made(fixture: Fixture, folder: Path) -> Sabotaged | None:
        actor, case = fixture.actor, plain(fixture)
        if sides == "shuffled":
            # What drives a tendon cannot be taken for a joint: units and sizes differ.
            places = np.flatnonzero([bool(n) for n in actor.driven])
            found: Any = np.arange(len(actor.driven))
            found[places] = np.random.default_rng(5).permutation(places)
        else:
            found = mirrored(actor.driven, sides)
        if found is None:
            return None
        case.recording = change(case.recording, actor.name, found)
        return case

    return made


def _mover(actor: ActorRecording) -> int:
    """The column of the setpoint that is farthest from its own negative."""
    assert actor.commands is not None
    return int(np.abs(actor.commands.position).mean(axis=0).argmax())


def sign(fixture: Fixture, folder: Path) -> Sabotaged | None:
    case, actor = plain(fixture), fixture.actor
    case.recording = with_signs(case.recording, actor.name, [_mover(actor)])
    return case


def quaternion(fixture: Fixture, folder: Path) -> Sabotaged | None:
    """A file with x, y, z, w read as if it were w, x, y, z."""
    case = plain(fixture)
    if not any(j.kind == "free" for j in fixture.actor.joints):
        return None
    case.recording = with_quaternions(case.recording, (1, 2, 3, 0))
    return case


def late(steps: int) -> Mistake:
    def made(fixture: Fixture, folder: Path) -> Sabotaged | None:
        case = plain(fixture)
        case.recording = shifted(case.recording, steps)
        return case

    return made


def velocities_in_degrees(fixture: Fixture, folder: Path) -> Sabotaged | None:
    case, actor = plain(fixture), fixture.actor
    if fixture.policy is None or actor.qvel is None:
        return None
    degrees = replace(actor, qvel=np.degrees(actor.qvel))
    case.recording = replace(case.recording, actors={actor.name: degrees}, states=None)
    case.mode = "policy"
    return case


def lost(fixture: Fixture, folder: Path) -> Sabotaged | None:
    """A recording in which every twentieth setpoint did not arrive."""
    case, actor = plain(fixture), fixture.actor
    if fixture.policy is None or actor.commands is None or actor.policy is None:
        return None
    if fixture.said.get("action", {}).get("mode", "absolute") != "absolute":
        return None
    commands = actor.commands
    rows = np.arange(len(commands.step))
    ticks = np.flatnonzero(np.abs(np.diff(commands.position, axis=0)).max(axis=1) > 1e-6) + 1
    for tick in ticks[10::20]:
        after = ticks[ticks > tick]
        rows[tick : after[0] if len(after) else None] = tick - 1
    kept = replace(commands, position=commands.position[rows], velocity=commands.velocity[rows])
    held = replace(actor, commands=kept)
    case.recording = replace(case.recording, actors={actor.name: held}, states=None)
    case.mode = "policy"
    return case


def unlisted(make: Mistake) -> Mistake:
    """The same, with a recording that states no gains, limits and joint properties."""

    def made(fixture: Fixture, folder: Path) -> Sabotaged | None:
        case = make(fixture, folder)
        if case is None:
            return None
        bare = replace(next(iter(case.recording.actors.values())), plant=Plant())
        case.recording = replace(case.recording, actors={bare.name: bare})
        return case

    return made
