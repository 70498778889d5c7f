"""Modes of a joint in a coupled robot: how much of its step response each of them is."""

import math
from dataclasses import dataclass, replace

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.tuning.responses.frequency import ComplexArray

#: Eigenvalues that differ by less than this share are one: those of limbs built alike.
SAME = 0.02
#: Overdamped, a joint has two real eigenvalues: the second takes at least this share of the part of
#: the first.
PARTNER = 0.05
#: Eigenvalues closer to 1 do not settle.
STAYS = 1e-10
#: Instants within a period at which the part of a mode is evaluated.
INSTANTS = np.linspace(0.0, 1.0, 101)


@dataclass(frozen=True)
class Mode:
    """One mode in the step response of a joint.

    Attributes:
        frequency: natural frequency [Hz].
        damping: damping ratio.
        size: the largest it contributes to the step response, as a share of the step.
        dof: the degree of freedom that has the largest part in it.
    """

    frequency: float
    damping: float
    size: float
    dof: int = -1


@dataclass(frozen=True)
class _Term:
    """residue · exp(rate · t) in the step response.

    `part` is the joint's part in the mode, `dof` the position that has the largest.
    """

    rate: complex
    residue: complex
    part: float
    dof: int

    @property
    def is_real(self) -> bool:
        return abs(self.rate.imag) <= 1e-9 * abs(self.rate)


def step_modes(a: FloatArray, b: FloatArray, row: FloatArray, tick: float) -> list[Mode]:
    """The modes of x⁺ = a x + b r in the position row · x after a step of r, the largest first.

    Two real eigenvalues count as one overdamped mode.

    Args:
        row: over the positions, which are the first of x; as many velocities follow.
    """
    terms = _terms(a, b, row, tick)
    found = [_mode(t, replace(t, rate=t.rate.conjugate())) for t in terms if not t.is_real]
    real = sorted((t for t in terms if t.is_real), key=lambda t: -abs(t.residue))
    while real:
        first = real.pop(0)
        near = [t for t in real if t.part > PARTNER * first.part]
        if near:
            partner = max(near, key=lambda t: t.part)
            real.remove(partner)
            found.append(_mode(first, partner))
        else:
            found.append(_mode(first, replace(first, residue=0.0)))
    return sorted(found, key=lambda mode: -mode.size)


def _terms(a: FloatArray, b: FloatArray, row: FloatArray, tick: float) -> list[_Term]:
    """One per eigenvalue, of conjugate ones the upper; those that are the same added up."""
    values, right = np.linalg.eig(a)
    left, n = np.linalg.pinv(right), len(row)
    with np.errstate(all="ignore"):
        rates = np.log(values.astype(complex)) / tick
        residues = (row @ right[:n]) * (left @ b) / (1.0 - values)
    rates = np.where(np.isfinite(rates), rates, -1.0 / tick)
    residues = np.where(np.abs(1.0 - values) > STAYS, residues, 0.0)
    share = np.abs(right * left.T)
    moving = share[:n] + share[n : 2 * n]
    parts, most = np.abs(row) @ moving, moving.argmax(axis=0)
    found: list[_Term] = []
    for k in np.argsort(-np.abs(residues)):
        new = _Term(complex(rates[k]), complex(residues[k]), float(parts[k]), int(most[k]))
        if not new.is_real and new.rate.imag < 0.0:
            continue
        same = next((i for i, t in enumerate(found) if _are_same(t.rate, new.rate)), None)
        if same is None:
            found.append(new)
        else:
            old = found[same]
            both = old.residue + new.residue
            found[same] = replace(old, residue=both, part=old.part + new.part)
    return found


def _are_same(one: complex, other: complex) -> bool:
    return abs(one - other) <= SAME * max(abs(one), abs(other))


def _mode(one: _Term, other: _Term) -> Mode:
    size = math.sqrt(abs(one.rate * other.rate))
    damping = -(one.rate + other.rate).real / (2.0 * size) if size else math.inf
    if not size:
        return Mode(0.0, damping, 0.0, one.dof)
    time = INSTANTS * 2.0 * math.pi / size
    # Of a conjugate pair only one has its residue here; the real parts of both are equal.
    twice = 1.0 if one.is_real else 2.0
    terms: ComplexArray = one.residue * np.exp(one.rate * time)
    if one.is_real:
        terms = terms + other.residue * np.exp(other.rate * time)
    with np.errstate(over="ignore"):
        most = float(np.abs(twice * terms.real).max())
    return Mode(size / (2.0 * math.pi), float(damping), most, one.dof)
