"""Order of the joints in a training: known from a file, or guessed from the tree of the model."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import mujoco

from mjrig.components.importers.sources.joint_matching import essence
from mjrig.components.importers.sources.robot import Robot
from mjrig.core.errors import SceneError, option
from mjrig.core.names import listed, nearest, suggestion

_KINDS = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))


class TreeOrder(StrEnum):
    """How a simulator numbers the joints of a tree."""

    #: Level by level, siblings as in the model: PhysX.
    BREADTH = "breadth"
    #: Level by level, siblings by name: PhysX, with a USD that was made from a URDF.
    SORTED = "sorted"
    #: The model's own order: Newton, mjlab.
    DEPTH = "depth"


class JointTree:
    """The joints of a model's robot, by the bodies they move."""

    def __init__(self, robot: Robot) -> None:
        self._model, self._prefix = robot.model, robot.articulation.model_map.prefix
        self._root = self._find_root(robot)

    def _find_root(self, robot: Robot) -> int:
        """The tree with the motors; without motors, the one with most joints."""
        model: Any = self._model
        if robot.driven:
            return int(model.body_rootid[model.jnt_bodyid[robot.driven[0].joint_id]])
        counts: dict[int, int] = {}
        for joint in range(model.njnt):
            root = int(model.body_rootid[model.jnt_bodyid[joint]])
            counts[root] = counts.get(root, 0) + int(model.jnt_type[joint] in _KINDS)
        return max(counts, key=lambda root: counts[root], default=0)

    def joints(self, order: TreeOrder) -> tuple[str, ...]:
        """Local names of its hinge and slide joints."""
        return tuple(name for body in self._bodies(order) for name in self._of_body(body))

    def _bodies(self, order: TreeOrder) -> Iterator[int]:
        queue = deque([self._root] if self._root else [])
        deep = order is TreeOrder.DEPTH
        while queue:
            body = queue.popleft()
            yield body
            children = [b for b in range(body + 1, self._model.nbody) if self._parent(b) == body]
            if order is TreeOrder.SORTED:
                children.sort(key=lambda b: str(self._model.body(b).name))
            if deep:
                queue.extendleft(reversed(children))
            else:
                queue.extend(children)

    def _parent(self, body: int) -> int:
        return int(self._model.body_parentid[body])

    def _of_body(self, body: int) -> Iterator[str]:
        first = int(self._model.body_jntadr[body])
        for joint in range(first, first + int(self._model.body_jntnum[body])):
            if self._model.jnt_type[joint] in _KINDS:
                yield str(self._model.joint(joint).name).removeprefix(self._prefix)


@dataclass(frozen=True)
class JointOrder:
    """The joints of a training in its order.

    Attributes:
        names: as the files call them.
        here: the same as the model calls them.
        notes, assumed: where the order comes from.
        other: what `--order` would give otherwise, where two guesses differ.
    """

    names: tuple[str, ...]
    here: tuple[str, ...]
    notes: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    other: tuple[str, ...] = ()

    def model_name(self, name: str) -> str:
        """A joint as the model calls it."""
        return self.here[self.names.index(name)]


def order_from_file(names: Sequence[str], robot: Robot, file: str) -> JointOrder:
    """The order that a file states by name.

    Raises:
        SceneError: a joint is not in the model.
    """
    tree = JointTree(robot).joints(TreeOrder.DEPTH)
    by_essence = {essence(joint): joint for joint in tree}
    here, missing = [], []
    for name in names:
        joint = name if name in tree else by_essence.get(essence(name))
        if joint is None or joint in here:
            close = nearest(name, tree)
            missing.append(f"{name} (nearest: {close})" if close else name)
        else:
            here.append(joint)
    if missing:
        raise SceneError(
            f"{file}: {robot.label} has no joint for {listed(missing)}; it has {listed(tree)}"
        )
    return JointOrder(tuple(names), tuple(here), (f"the joint order is that of {file}",))


def guessed_order(
    robot: Robot,
    wanted: str,
    usual: TreeOrder,
    known: Callable[[Sequence[str]], bool],
) -> JointOrder:
    """The order by the tree of the model.

    Args:
        wanted: what the user said: a `TreeOrder`, or nothing.
        usual: that of the simulator.
        known: whether the patterns of the files match names.

    Raises:
        SceneError: there is no such order.
    """
    if wanted and wanted not in list(TreeOrder):
        raise SceneError(option("order", wanted) + f": {suggestion(wanted, list(TreeOrder))}")
    tree = JointTree(robot)
    order = TreeOrder(wanted) if wanted else usual
    here = tree.joints(order)
    names = _spoken(here, known)
    if wanted:
        return JointOrder(names, here, (f"the joint order is that of --order {wanted}",))
    if usual is TreeOrder.DEPTH:
        return JointOrder(names, here, ("the joint order is the model's, as of its simulator",))
    text = "no file has the joint order: breadth first over the bodies, as PhysX numbers them"
    other = tree.joints(TreeOrder.SORTED)
    return JointOrder(names, here, assumed=(text,), other=other if other != here else ())


def _spoken(here: Sequence[str], known: Callable[[Sequence[str]], bool]) -> tuple[str, ...]:
    """Names as the files have them, where they differ from the model's by an ending."""
    tries = [tuple(here), tuple(f"{name}_joint" for name in here)]
    tries.append(tuple(name.removesuffix("_joint") for name in here))
    return next((names for names in tries if known(names)), tuple(here))
