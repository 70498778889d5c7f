"""Whether the network here does what was recorded, on the observations that were recorded."""

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.errors import MjrigError
from mjrig.names import how_many
from mjrig.sim2sim.compare.finding import ReplayFinding
from mjrig.sim2sim.recorded_policy.action_checks import filter_finding
from mjrig.sim2sim.recorded_policy.action_filter import ALIKE, action_line, recorded_filter
from mjrig.sim2sim.recorded_policy.policy_case import PolicyCase
from mjrig.sim2sim.recorded_policy.recomputed import MOST, real_ticks

#: Actions that agree to this share of their size are of the same network.
AGREES = 1e-2
#: A recurrent state that was not recorded is forgotten after this share of the ticks.
FORGOTTEN = 0.5
#: The share of a network that may be right, on observations that are not its own.
SUSPECTED = 0.6


class NetworkCheck:
    """Feeds recorded observations to the network, in order.

    `rest` is how far its actions are from the recorded ones afterwards, `open` says why nothing
    can be said.
    """

    def __init__(self, case: PolicyCase) -> None:
        self._case = case
        self.open: list[str] = []
        self.rest: float | None = None
        #: Whether its outputs depend on ticks before the first recorded one.
        self._remembers = False

    def run(self, *, terms_agree: bool) -> list[ReplayFinding]:
        """Findings.

        Args:
            terms_agree: recorded observations are those that the policy here makes.
        """
        case = self._case
        rows = real_ticks(case.ticks)[:MOST]
        seen = case.ticks.observation[rows]
        if len(rows) < 3 or seen.shape[1] != case.policy.observation.size:
            self.open.append("the network: observations of another size were recorded")
            return []
        if set(case.joints) != set(case.policy.joints):
            self.open.append("the network: actions of other joints were recorded")
            return []
        try:
            here = case.policy.answers(seen).astype(np.float64)
        except MjrigError as error:
            self.open.append(f"the network: {error}")
            return []
        columns = [case.joints.index(j) for j in case.policy.joints]
        recorded = case.ticks.action[rows][:, columns].astype(np.float64)
        if not case.from_the_start:
            without = case.policy.answers(seen[1:]).astype(np.float64)
            self._remembers = not np.array_equal(without, here[1:])
        return self._compared(recorded, here, terms_agree)

    def _compared(
        self, recorded: FloatArray, here: FloatArray, terms_agree: bool
    ) -> list[ReplayFinding]:
        # Recorded actions may be clipped already.
        off = np.minimum(
            np.abs(recorded - here), np.abs(recorded - np.clip(here, *_range(self._case)))
        ).max(axis=1)
        size = max(float(np.sqrt(np.mean(recorded**2))), 1e-6)
        if float(off.max()) < AGREES * size:
            self.rest = float(off.max())
            return []
        late = off[int(FORGOTTEN * len(off)) :]
        is_forgotten = float(late.max()) < AGREES * size and not self._case.from_the_start
        if is_forgotten or self._remembers:
            self.open.append("the network's memory at the first recorded tick was not recorded")
            return []
        smoothed = self._smoothed(recorded, here)
        if smoothed:
            return smoothed
        factor = _factor(recorded, here)
        if factor is not None and abs(factor - 1.0) < AGREES:
            return []  # but for a clip, which is judged with the targets
        if factor is not None:
            text = (
                f"recorded actions are {factor:.4g} times the network's output on the recorded "
                "observations: they were recorded after a scale"
            )
            return [ReplayFinding("recorded actions", "", f"times {factor:.4g}", "as the network "
                                  "gives them", text, 1.0)]  # fmt: skip
        text = (
            f"on the recorded observations its actions differ by {float(off.max()) / size:.2g} of "
            f"their size, over {how_many(len(off), 'tick')}"
        )
        if not terms_agree:
            text += "; but the observations are not those of the policy here either"
        share = 1.0 if terms_agree else SUSPECTED
        return [ReplayFinding("network", "", "another", "this", text, share)]

    def _smoothed(self, recorded: FloatArray, here: FloatArray) -> list[ReplayFinding]:
        beta = recorded_filter(here, recorded, np.inf)
        now = float((self._case.said.get("action") or {}).get("smoothing", 1.0))
        if beta is None or beta >= 1.0 or abs(beta - now) < ALIKE:
            return []
        text = f"recorded actions are those of the network here, smoothed with β = {beta:g}"
        return [filter_finding(beta, now, text)]


def _factor(recorded: FloatArray, here: FloatArray) -> float | None:
    """One factor between all recorded actions and those of the network; None: there is none."""
    lines = [action_line(h, r) for r, h in zip(recorded.T, here.T, strict=True)]
    found = [line for line in lines if line is not None]
    if len(found) < max(1, 0.5 * len(lines)):
        return None
    slopes = np.array([line.slope for line in found])
    middle = float(np.median(slopes))
    alike = np.abs(slopes - middle).max() < 1e-2 * abs(middle)
    return middle if alike and max(abs(line.offset) for line in found) < 1e-3 else None


def _range(case: PolicyCase) -> tuple[float, float]:
    clip = (case.said.get("action") or {}).get("clip")
    if clip is None or np.ndim(clip) > 1 or isinstance(clip, str):
        return -np.inf, np.inf
    return (-float(clip), float(clip)) if np.ndim(clip) == 0 else (float(clip[0]), float(clip[1]))
