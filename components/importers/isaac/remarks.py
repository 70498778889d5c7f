"""What a user should know of an imported run: guesses, gaps, and what the network lacks."""

from collections.abc import Iterator

from mjrig.components.importers.isaac.joint_order import TreeOrder
from mjrig.components.importers.isaac.known_fields import known_fields
from mjrig.components.importers.isaac.plant import ScenePlant
from mjrig.components.importers.isaac.run_files import Run
from mjrig.components.importers.sources.found import Doubt
from mjrig.components.importers.sources.unread import unread
from mjrig.names import listed


def remarks(run: Run, plant: ScenePlant) -> Iterator[Doubt]:
    """Findings about a run."""
    yield from _about_network(run)
    if run.order.other:
        yield Doubt(
            "order-guessed",
            f"two joint orders are possible: taken is {listed(run.here(run.order.names))}; with "
            f"siblings by name, as in a USD made from a URDF, it is {listed(run.order.other)}",
            f"--order {TreeOrder.SORTED} takes the other; IO descriptors would tell",
        )
    if run.unmatched:
        text = f"patterns that match no joint of the model: {listed(dict.fromkeys(run.unmatched))}"
        yield Doubt("unmatched", text, "does the model lack joints of the training?")
    env = run.env
    left = [*env.left_out(), *(f"initial velocities ({text})" for text in env.moving())]
    if left:
        yield Doubt("not-imported", f"not imported: {'; '.join(left)}", mild=True)
    if not env.is_direct:
        yield from unread(known_fields(env, run.agent.groups))
    yield from plant.doubts


def assumptions(run: Run, plant: ScenePlant) -> Iterator[str]:
    """What no file states."""
    yield from run.order.assumed
    yield from run.assumed
    still = [j for j in run.order.names if j not in run.moved]
    held = [j for j in still if any(j in group.joints for group in run.groups)]
    if held:
        yield f"joints that no action moves hold the default pose: {listed(held)}"
    if run.env.stack == "mjlab" and not plant.controllers:
        yield (
            "the classes of the actuators are not in the file: position actuators of MuJoCo, as "
            "mjlab's robots have them"
        )


def _about_network(run: Run) -> Iterator[Doubt]:
    network, agent = run.source.network, run.agent
    if network is None or network.onnx is None:
        return
    name = network.path.name
    if agent.normalised and not network.graph.normalises(network.observation):
        yield Doubt(
            "normaliser-missing",
            f"{agent.file} says that observations are normalised, and {name} does not do it: the "
            "robot will fall at once",
            "export the network with its normaliser, as play.py does",
        )
    if agent.recurrent and not network.recurrent():
        yield Doubt(
            "memory-missing",
            f"{agent.file} says that the network has a memory, {name} has none",
            "is it the network of this run?",
        )
