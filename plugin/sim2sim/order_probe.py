"""Is the joint order of a policy right? Short runs with the orders it might have instead."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import yaml

from mjrig.articulation import Articulation
from mjrig.errors import MjrigError, RecordingError
from mjrig.sim2sim.policy_mode import find_robot, in_the_loop, tell
from mjrig.sim2sim.relabel import SIDES, mirrored
from mjrig.sim2sim.track import Track
from mjrig.sim2sim.trials import run_policy
from mjrig.world import World

DECLARED = "as declared"
#: How long a probe runs [s]; wrong orders show in the first moments.
SECONDS = 3.0
#: Another order is suspected if its cost is below this share of the declared one's.
CLEARLY = 0.6


@dataclass(frozen=True)
class OrderProbe:
    """One order: how the robot did with it. Least `cost` is best.

    The cost adds up how early it fell, its tilt, how badly it followed the command, how often
    motors were at their limits and how restless the setpoints were.
    """

    name: str
    joints: tuple[str, ...]
    cost: float
    fell: bool
    duration: float
    upright: float
    tracking_error: float | None
    saturation: float
    restlessness: float


def order_probe(
    policy: Path,
    world: World,
    robot: str = "",
    *,
    command: Sequence[float] | None = None,
    seconds: float = SECONDS,
) -> list[OrderProbe]:
    """Run a policy with its declared order and with others, best first.

    Others are: left and right swapped, front and rear swapped, the model's joints in their order,
    its actuators in theirs.

    Raises:
        RecordingError: the file is no policy file, or which robot it is for cannot be known.
    """
    actor = find_robot(world, robot)
    said = _read(policy)
    steps = max(1, round(seconds / world.timestep))
    found: list[OrderProbe] = []
    with TemporaryDirectory() as folder:
        for name, joints in orders(said["joints"], actor):
            path = Path(folder, f"{len(found)}.yaml")
            _write({**said, "joints": list(joints)}, path, policy.resolve().parent)
            try:
                with in_the_loop(path, world, actor) as component:
                    tell(component, command, None)
                    run = run_policy(world, actor, component, steps, start=world.reset)
            except MjrigError:
                if name == DECLARED:
                    raise
                continue
            restless = _restlessness(run.track, actor, max(1, int(said.get("decimation", 1))))
            trial = run.trial
            cost = (
                4.0 * (1.0 - trial.duration / seconds)
                + 4.0 * (1.0 - max(trial.upright, -1.0))
                + (trial.tracking_error or 0.0)
                + 2.0 * trial.saturation
                + restless
            )
            found.append(
                OrderProbe(
                    name,
                    tuple(joints),
                    cost,
                    trial.fell,
                    trial.duration,
                    trial.upright,
                    trial.tracking_error,
                    trial.saturation,
                    restless,
                )
            )
    return sorted(found, key=lambda probe: probe.cost)


def suspicion(probes: Sequence[OrderProbe]) -> str:
    """What the probes say against the declared order, in words; empty: nothing."""
    declared = next(p for p in probes if p.name == DECLARED)
    best = probes[0]
    if best is declared or best.fell or best.cost > CLEARLY * declared.cost:
        return ""
    worse = "falls" if declared.fell else f"costs {declared.cost:.2f}"
    return (
        f"the joint order looks wrong: as declared it {worse}, with {best.name} it costs only "
        f"{best.cost:.2f} (upright {best.upright:.2f})"
    )


def orders(declared: Sequence[str], robot: Articulation) -> Iterator[tuple[str, list[str]]]:
    """The orders to try, each once: name and joints."""
    names = list(declared)
    found = [(DECLARED, names)]
    for sides in SIDES:
        order = mirrored(names, sides)
        if order is not None:
            found.append((f"{sides} swapped", [names[i] for i in order]))
    drives = {b.actuator: b.joint for b in robot.actuators}
    here = {drives[n] if n in drives else n: n for n in names}
    by_joint = [here[j] for j in robot.joint_names if j in here]
    by_actuator = [here[j] for a in robot.actuator_names if (j := drives[a]) in here]
    found += [("the model's joint order", by_joint), ("the model's actuator order", by_actuator)]
    seen: list[list[str]] = []
    for name, joints in found:
        if joints not in seen and len(joints) == len(names):
            seen.append(joints)
            yield name, joints


def _restlessness(track: Track, robot: Articulation, every: int) -> float:
    """Mean jump of the position setpoints from tick to tick [rad or m]."""
    targets = track.target[robot.name][:, 0][::every]
    return float(np.abs(np.diff(targets, axis=0)).mean()) if len(targets) > 1 else 0.0


def _read(policy: Path) -> dict[str, Any]:
    try:
        data = yaml.safe_load(policy.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise RecordingError(f"{policy}: cannot be read: {error}") from error
    if not isinstance(data, dict) or not isinstance(data.get("joints"), list):
        raise RecordingError(f"{policy}: is no policy file: it has no list of joints")
    return data


def _write(data: dict[str, Any], path: Path, folder: Path) -> None:
    """Write a copy elsewhere; its files stay where they are."""
    data = dict(data)
    data["network"] = str(folder / str(data.get("network", "")))
    motion = data.get("motion")
    if isinstance(motion, dict) and motion.get("file"):
        data["motion"] = {**motion, "file": str(folder / str(motion["file"]))}
    path.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
