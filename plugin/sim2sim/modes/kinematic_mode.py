"""Mode kinematic: show the recorded poses without simulating."""

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.recording.recording import Recording
from mjrig.sim.world import World
from mjrig.sim2sim.compare.matching import Match
from mjrig.sim2sim.compare.result import SHOWN, Replay
from mjrig.sim2sim.compare.source import scene_name
from mjrig.sim2sim.compare.track import base_of
from mjrig.sim2sim.play.players import KinematicPlayer

EVIDENCE = "recorded poses, shown without simulation: no evidence about transfer"


def replay_poses(recording: Recording, world: World, *, robot: str = "") -> Replay:
    """Show all poses at the rate of the world, and report whether a base falls."""
    player = KinematicPlayer(recording, world, robot=robot)
    count = max(1, round(player.duration / world.timestep))
    qpos = np.empty((count + 1, world.model.nq))
    for k in range(count + 1):
        player.seek(player.duration * k / count)
        qpos[k] = world.data.qpos
    result = Replay("kinematic", str(recording.path), scene_name(world), SHOWN, EVIDENCE)
    result.duration = player.duration
    result.notes += [*recording.notes, *player.notes]
    for pair in player.matches:
        base = base_of(world, pair.robot, qpos)
        if base is not None and result.base_start is None:
            result.base_start, result.base_end = base.start, base.end
            fell = base.fell_at()
            result.fell = fell is not None
            result.fell_at = None if fell is None else fell * player.duration / count
        result.notes += _beyond_limits(world, pair, qpos)
    return result


def _beyond_limits(world: World, pair: Match, qpos: FloatArray) -> list[str]:
    """Joints that leave their range here: a sign, an order or a unit may be wrong."""
    model, found = world.model, []
    ids = dict(zip(pair.robot.joint_names, pair.robot.model_map.joint_ids, strict=True))
    for _, here in pair.single:
        joint = int(ids[here.name])
        if not model.jnt_limited[joint]:
            continue
        low, high = model.jnt_range[joint]
        q = qpos[:, here.qpos.start]
        excess = float(np.maximum(low - q, q - high).max())
        if excess > 1e-3:
            found.append(f"{here.name} leaves its range here by {excess:.3g}")
    return found
