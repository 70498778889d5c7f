"""Rate, tick phase and joint order of a policy against its recorded ticks; no simulation."""

from collections.abc import Iterator

import numpy as np

from mjrig.names import how_many
from mjrig.sim2sim.compare.finding import RepairEdit, ReplayFinding
from mjrig.sim2sim.recorded_policy.policy_case import PolicyCase
from mjrig.sim2sim.recorded_policy.recomputed import first_ticks, real_ticks

PHASES = ("before", "inside", "after")


def check_rate(case: PolicyCase) -> Iterator[ReplayFinding]:
    """Steps from tick to tick, and the step of the first tick."""
    rows = real_ticks(case.ticks)
    steps = case.ticks.step[rows]
    if len(steps) < 3:
        return
    every, here = round(float(np.median(np.diff(steps)))), case.policy.tick_steps
    if every != here:
        hz = [1.0 / (n * case.recording.timestep) for n in (every, here)]
        yield ReplayFinding(
            "decimation",
            "",
            every,
            here,
            f"recorded ticks are {every} steps apart ({hz[0]:g} Hz, {len(steps)} ticks), the "
            f"policy here ticks every {here} ({hz[1]:g} Hz)",
            1.0,
            (RepairEdit("policy", "decimation", every),),
        )
        return
    start = round(case.began / case.world.timestep)
    expected = first_ticks(case.world, case.policy, start + 2 * here + 1)
    if not expected:
        return
    off = (int(steps[0]) - expected[0]) % here
    off = off - here if off > here // 2 else off
    if off:
        yield _phase(case, int(steps[0]), expected[0], off)


def _phase(case: PolicyCase, recorded: int, here: int, off: int) -> ReplayFinding:
    """Ticks that fall on other steps."""
    said = str(case.said.get("phase", "before"))
    late = "later" if off > 0 else "earlier"
    # Where the same interval leaves the first tick: 0 or d (before, after), d − 1 (inside).
    fix: tuple[RepairEdit, ...] = ()
    start = round(case.began / case.world.timestep)
    rest = (recorded - start) % case.policy.tick_steps
    wanted = "inside" if rest == case.policy.tick_steps - 1 else "before" if rest == 0 else ""
    if wanted == "before" and recorded - start >= case.policy.tick_steps:
        wanted = "after"
    if wanted and wanted != said:
        fix = (RepairEdit("policy", "phase", wanted),)
    return ReplayFinding(
        "tick phase",
        "",
        wanted or f"first tick at step {recorded}",
        said if wanted else f"first tick at step {here}",
        f"the first recorded tick is at step {recorded}, here at step {here}: recorded ticks are "
        f"{how_many(abs(off), 'physics step')} {late}",
        1.0,
        fix,
    )


def check_velocities(case: PolicyCase) -> Iterator[ReplayFinding]:
    """Recorded velocities against the change of recorded positions, where every step is there."""
    recorded = case.match.recorded
    columns = [j for j, _ in case.match.single]
    if recorded.qvel is None or not columns:
        return
    rows = np.flatnonzero(np.diff(recorded.step) == 1)
    q = recorded.qpos[:, [j.qpos.start for j in columns]]
    v = recorded.qvel[:, [j.dof.start for j in columns]][rows + 1]
    moved = (q[rows + 1] - q[rows]) / case.recording.timestep
    size = float(np.sum(moved * moved))
    if len(rows) < 10 or size < 1e-6:
        return
    factor = float(np.sum(v * moved)) / size
    rest = float(np.sqrt(np.sum((v - factor * moved) ** 2) / np.sum(v * v))) if v.any() else 1.0
    if abs(factor - 1.0) > 0.1 and rest < 0.1:
        unit = ", as degrees are of radians" if abs(factor - np.degrees(1.0)) < 0.5 else ""
        yield ReplayFinding(
            "velocity units",
            "",
            f"{factor:.4g} times the change of positions",
            "the change of positions",
            f"recorded joint velocities are {factor:.4g} times as large as recorded positions "
            f"change{unit}; that leaves {rest:.1g} of their size",
            1.0,
        )


def check_names(case: PolicyCase) -> Iterator[ReplayFinding]:
    """The order of the joints, where the recording states it."""
    here, recorded = list(case.policy.joints), list(case.joints)
    if here == recorded or sorted(here) != sorted(recorded):
        return
    moved = sum(a != b for a, b in zip(here, recorded, strict=True))
    yield ReplayFinding(
        "joint order",
        how_many(moved, "joint"),
        recorded,
        here,
        f"the recording lists the joints of the policy in another order: {', '.join(recorded)}",
        1.0,
        (RepairEdit("policy", "joints", recorded),),
    )
