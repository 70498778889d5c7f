"""Which controllers will run natively, known from the spec before anything is compiled."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from mjrig.control.controller import ArticulationController
from mjrig.control.execution import Execution, choose, is_implicit
from mjrig.control.lowering import NativeForm
from mjrig.control.plant_component import PlantComponent
from mjrig.model.binding import ActuatorBinding, equipped
from mjrig.model.build import Layout
from mjrig.model.draft_bindings import Drafted, draft_actuators
from mjrig.scene.actor import ActorDescription

#: A controller: the index of its actor, and its own among the actor's components.
Key = tuple[int, int]


class Recipe(NamedTuple):
    """What the actuators of one controller become, numbers that can be loaded later left out."""

    names: tuple[str, ...]
    is_dc: bool
    integrates: bool
    early: bool
    lags: tuple[int, ...] | None
    room: int

    @staticmethod
    def of(controller: ArticulationController, prefix: str, form: NativeForm) -> "Recipe":
        """The recipe of a bound controller, whose law is in this form."""
        return Recipe(
            tuple(prefix + b.actuator for b in controller.bindings),
            form.dc is not None,
            form.ki is not None,
            form.early,
            None if form.lags is None else tuple(form.lags.tolist()),
            controller.delay_room(),
        )


@dataclass(frozen=True)
class Draft:
    """What is expected of the controllers of a scene."""

    executions: Mapping[Key, Execution]
    #: Of those that run natively.
    recipes: Mapping[Key, Recipe]
    forms: Mapping[Key, NativeForm]
    #: Their motors by actuator id, as they are before they become something else.
    motors: Mapping[int, ActuatorBinding]
    #: Copies of all controllers that it is about, on no actor.
    controllers: Mapping[Key, ArticulationController]


def draft(layout: Layout, requested: str, not_here: str) -> Draft | None:
    """What the controllers of a scene will run as; None: nothing natively, or it is not known.

    Args:
        layout: the scene in one spec, which stays as it is.
        requested: `auto` or `native`.
        not_here: why nothing may be lowered; empty if that is possible.
    """
    with suppress(Exception):  # whatever is wrong is found again when the world is bound
        return _draft(layout, requested, not_here)
    return None


def _draft(layout: Layout, requested: str, not_here: str) -> Draft | None:
    options = layout.spec.option
    executions: dict[Key, Execution] = {}
    copies: dict[Key, ArticulationController] = {}
    native: dict[Key, tuple[ArticulationController, str]] = {}
    parts = layout.parts.values()
    known = {part.name: Drafted(part.actuators.now, part.authored.aliases) for part in parts}
    actuators = draft_actuators(layout.spec, known)
    for i, part in enumerate(parts):
        for j, component in enumerate(part.actor.components):
            if isinstance(component, PlantComponent):
                executions[i, j] = choose(requested, part.name, component.supports(), not_here)
        controllers = [
            (j, c)
            for j, c in enumerate(part.actor.components)
            if isinstance(c, ArticulationController) and c.follows_pose
        ]
        if not controllers:
            continue
        prefix = f"{part.name}/"
        own = equipped(actuators[part.name], part.motors)
        stand_in = ActorDescription.blank()
        stand_in.stand_alone(part.actor)  # files of the drafts: the same folder and sandbox
        for j, described in controllers:
            copies[i, j] = controller = described.copy()
            controller.own(stand_in, described.role, "components")
            if not controller.bind_draft(own, part.name, float(options.timestep)):
                return None
            if not controller.is_bound:
                continue
            supports = controller.supports()
            chosen = choose(requested, part.name, supports, not_here, is_implicit(options))
            executions[i, j] = chosen
            if chosen.name == "native":
                native[i, j] = controller, prefix
    if not native:
        return None
    forms = {key: controller.native_form() for key, (controller, _) in native.items()}
    made = Draft(
        executions,
        {key: Recipe.of(*found, forms[key]) for key, found in native.items()},
        forms,
        {b.actuator_id: b for controller, _ in native.values() for b in controller.bindings},
        copies,
    )
    for controller in copies.values():
        controller.disown()
    return made
