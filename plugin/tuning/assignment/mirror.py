"""Mirror images: joints on the left and right that are built alike, and get the same gains."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mjrig.gains.choice import Chosen
from mjrig.tuning.assignment.poses import Seen

#: Letters and words for the sides; names are hints, the model decides.
SIDES = (("left", "right"), ("Left", "Right"), ("LEFT", "RIGHT"))
LETTERS = {"l": "r", "r": "l", "L": "R", "R": "L"}
#: Relative difference of masses and inertias up to which links are alike.
ALIKE = 0.01
#: The same of the largest inertia over all poses, which is searched for.
SEARCHED = 0.05


def mirrored_names(name: str) -> set[str]:
    """What the joint on the other side could be called."""
    found = {name.replace(a, b) for a, b in SIDES} | {name.replace(b, a) for a, b in SIDES}
    for i, letter in enumerate(name):
        if letter in LETTERS:
            found.add(name[:i] + LETTERS[letter] + name[i + 1 :])
    return found - {name}


def twins(chosen: Sequence[Chosen], seen: Sequence[Seen]) -> dict[int, int]:
    """Index → index of its mirror image: by name, and the model shows that it is one."""
    found: dict[int, int] = {}
    for i, one in enumerate(chosen):
        names = mirrored_names(one.binding.joint)
        same = [
            j
            for j, other in enumerate(chosen)
            if other.robot is one.robot
            and other.binding.joint in names
            and _built_alike(one, other)
            and abs(seen[i].largest / seen[j].largest - 1.0) <= SEARCHED
        ]
        if len(same) == 1:
            found[i] = same[0]
    return {i: j for i, j in found.items() if found.get(j) == i}


def _built_alike(one: Chosen, other: Chosen) -> bool:
    """Whether joints, links and what hangs on them are equal but for their place."""
    model = one.robot.model
    a, b = (_build(model, c) for c in (one, other))
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=ALIKE, atol=1e-9))


def _build(model: Any, chosen: Chosen) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    joint, dof = chosen.binding.joint_id, chosen.binding.dof_address
    body = int(model.jnt_bodyid[joint])
    carried = [i for i in range(body, model.nbody) if _is_carried(model, i, body)]
    reach = np.sort(np.abs(model.jnt_range[joint]))
    return np.array(
        [
            model.jnt_type[joint],
            model.jnt_stiffness[joint],
            model.dof_armature[dof],
            model.dof_damping[dof],
            model.dof_frictionloss[dof],
            *(reach if model.jnt_limited[joint] else ()),
            *np.sort(model.body_mass[carried]),
            *np.sort(model.body_inertia[carried], axis=None),
        ],
        dtype=np.float64,
    )


def _is_carried(model: Any, body: int, by: int) -> bool:
    """Whether a body is another one, or hangs on it."""
    while body > by:
        body = int(model.body_parentid[body])
    return body == by
