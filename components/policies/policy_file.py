"""PolicyFile: the declaration of policy.yaml."""

from collections.abc import Mapping
from pathlib import Path
from typing import Self

import numpy as np

from mjrig.arrays import FloatArray, frozen
from mjrig.components.laws.space import Precision
from mjrig.components.policies.policy_parts import (
    ActionRecipe,
    CommandInput,
    MotionReference,
    ObservationRecipe,
    Phase,
    StartPhase,
    TargetKind,
    TrainedWith,
    given,
)
from mjrig.components.policies.terms.kinds import Names, PerJoint
from mjrig.components.policies.terms.term import ObservationTerm
from mjrig.errors import MjrigError, PolicyError, PropertyError
from mjrig.files.paths import Gate, read_limited
from mjrig.files.writing import write_atomically
from mjrig.names import Slots
from mjrig.properties.component import Component
from mjrig.properties.has_properties import HasProperties
from mjrig.properties.mapping_kinds import Table, a_name, a_number, anything
from mjrig.properties.nested_kinds import Nested
from mjrig.properties.scalar_kinds import Choice, FilePath, Int, OptionalFloat, Text
from mjrig.yaml_text.formatting import format_block
from mjrig.yaml_text.yaml_document import MAX_CHARACTERS, Document

__all__ = ["PolicyFile", "given"]


class PolicyFile(Component):
    """A network with its observation recipe, rate, joint order and action scale.

    Values per joint are a number, a list in the order of `joints`, or a mapping of name patterns.
    """

    network = FilePath(
        suffixes=(".onnx", ".pt", ".yaml"),
        doc="The network, relative to this file; .yaml: the description of a LEAPP bundle.",
    )
    joints = Names(doc="Joints (or actuators) it moves, in its own order.")
    aliases = Table(a_name, doc="Joint names in the source → names here; for information.")
    timestep = OptionalFloat(
        None, min=0.0, above=True, unit="s", doc="Physics timestep it was trained with; none: any."
    )
    decimation = Int(1, min=1, max=100_000, unit="steps", doc="Physics steps per tick.")
    phase = Choice(Phase.BEFORE, doc="When a tick occurs relative to the physics step.")
    state = Choice(Precision.FLOAT64, doc="float32: measurements are rounded first.")
    default = PerJoint(unit="rad", doc="Default joint positions.")
    observed = Table(
        a_number, doc="Joints it observes but does not move → default position [rad or m]."
    )
    start = Nested(StartPhase, doc="Targets and gains before the first tick.")
    observation = Nested(ObservationRecipe, doc="Observation of the network.")
    action = Nested(ActionRecipe, doc="Mapping from the network's output to targets.")
    command = Nested(CommandInput, doc="Command input, such as velocities.")
    recurrent = Table(
        a_name,
        doc="Recurrent state: network input → output of the previous tick; found if unambiguous.",
    )
    input = Text("", doc="Network input of the observation; empty: the first that is free.")
    output = Text("", doc="Network output of the action; empty: the first that is free.")
    time_step = Text("", doc="Network input that receives the tick count; empty: none.")
    motion = Nested(MotionReference, doc="Reference motion of the motion terms.")
    trained = Nested(TrainedWith, doc="Robot parameters in training.")
    source = Table(anything, doc="Provenance: stack, files with sha256, notes.")

    def _own_prepare(self) -> None:
        self._path: Path | None = None
        self._admits: Gate | None = None
        self._trusted: tuple[Path, ...] = ()

    @property
    def label(self) -> str:
        return "policy"

    def folder(self) -> Path:
        return self._path.parent if self._path is not None else Path()

    def gate(self) -> Gate | None:
        return self._admits

    def trusted_folders(self) -> tuple[Path, ...]:
        return self._trusted

    @property
    def path(self) -> Path | None:
        """The file it was loaded from or saved to last."""
        return self._path

    def to_data(self) -> dict[str, object]:
        return HasProperties.to_data(self)  # a file needs no type

    # Files --------------------------------------------------------------------------------------

    @classmethod
    def load(
        cls, path: str | Path, gate: Gate | None = None, trusted: tuple[Path, ...] = ()
    ) -> Self:
        """Read a policy.yaml; the modules of `trusted` folders may be run.

        Raises:
            PolicyError: it cannot be read, or a value is invalid:
                `file:line:column: path: …`.
        """
        path = Path(path)
        try:
            text = read_limited(path, 4 * MAX_CHARACTERS).decode("utf-8")
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise PolicyError(f"{path}: cannot be read: {why}") from error
        return cls.parse(text, path, gate, trusted)

    @classmethod
    def parse(
        cls, text: str, path: Path, gate: Gate | None = None, trusted: tuple[Path, ...] = ()
    ) -> Self:
        """Parse a text; file names in it are relative to the folder of `path`.

        Raises:
            PolicyError: a value is invalid.
        """
        try:
            document = Document(text, str(path))
        except MjrigError as error:
            raise PolicyError(str(error)) from error
        if not isinstance(document.data, Mapping):
            raise PolicyError(f"{path}:1:1: must be a mapping, got {document.data!r}")
        made = cls.blank()
        made._path, made._admits, made._trusted = path, gate, trusted
        try:
            made._begin(document.data)
            made.complete()
        except PropertyError as error:
            said = document.error(error.keys, str(error), at=error.at, about_key=error.about_key)
            raise PolicyError(str(said)) from error
        return made

    def save(self, path: str | Path) -> None:
        """Write it as a policy.yaml; `load` gives it back.

        Raises:
            PropertyError: a required value is missing or invalid.
        """
        self.complete()
        write_atomically(Path(path), format_block(self.to_data(), 0) + "\n")
        self._path = Path(path)

    def complete(self) -> None:
        """Check required values, and expand values per joint over `joints`.

        Raises:
            PropertyError: something is missing, or a list or pattern does not fit the joints.
        """
        if self.network is None:
            raise PropertyError("policy: needs a network: policy.onnx")
        if not self.joints:
            raise PropertyError("policy: needs joints: the names in the network's order")
        if self.observation is None or not self.observation.terms:
            raise PropertyError("policy: needs observation.terms: what the network sees, in order")
        self.spread_over(Slots([(name,) for name in self.joints], "", "joint"))
        kinds = self.action_recipe.targets
        if kinds:
            action = self.action_recipe
            try:
                Slots([(n,) for n in self.joints], "", "joint").spread(kinds)
            except MjrigError as error:
                problem = action.property_named("targets").error(action, str(error))
                raise problem.below("action") from None

    # What others read ---------------------------------------------------------------------------

    @property
    def action_recipe(self) -> ActionRecipe:
        """Mapping from the network's output to targets."""
        return self.action if self.action is not None else _spread_like(ActionRecipe(), self)

    @property
    def pose(self) -> FloatArray:
        """The default pose, as precise as the targets: float32 stacks keep it so."""
        if self.action_recipe.dtype is Precision.FLOAT32:
            return frozen(self.default.astype(np.float32))
        return self.default

    @property
    def terms(self) -> tuple[ObservationTerm, ...]:
        """The observation terms, in order."""
        return self.observation.terms if self.observation is not None else ()

    @property
    def target_kinds(self) -> tuple[TargetKind, ...]:
        """The command kind of each joint."""
        slots = Slots([(name,) for name in self.joints], "", "joint")
        chosen = slots.spread(self.action_recipe.targets)
        return tuple(
            chosen[i][1] if i in chosen else TargetKind.POSITION for i in range(len(slots))
        )

    def network_file(self) -> Path:
        """The file of the network.

        Raises:
            PropertyError: there is none, or it may not be read.
        """
        assert self.network is not None
        try:
            if self.gate() is not None and self.network.suffix.lower() == ".pt":
                raise PropertyError(
                    "TorchScript is a program, and a sandbox runs none; export the network as ONNX"
                )
            return self.find_file(self.network)
        except PropertyError as error:
            raise self.property_named("network").error(self, str(error)) from None


def _spread_like(part: ActionRecipe, owner: PolicyFile) -> ActionRecipe:
    part.spread_over(owner._slots)
    return part
