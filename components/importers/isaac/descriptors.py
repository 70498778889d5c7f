"""IO_descriptors.yaml: names, order and defaults of a training, already resolved."""

from collections.abc import Iterator, Sequence

from mjrig.components.importers.isaac.actions import ActionTerm, described_action
from mjrig.components.importers.isaac.observations import ObservedTerm, described_term
from mjrig.components.importers.isaac.patterns import flat_numbers
from mjrig.components.importers.sources.vendor_file import VendorEntry, VendorFile
from mjrig.errors import SceneError

KEYS = ("articulations", "observations", "actions")


class DescriptorFile:
    """IO_descriptors.yaml of Isaac Lab."""

    def __init__(self, config: VendorFile) -> None:
        self.config, self.root, self.name = config, config.root, config.path.name
        robots = self.root.at("articulations")
        key = "robot" if "robot" in robots else next(iter(robots.mapping()), "robot")
        self.robot = robots.at(key)
        self.joints = tuple(self.robot.texts("joint_names", distinct=True))

    def values(self, key: str) -> dict[str, float]:
        """`default_joint_pos` and others by joint; none: not in the file."""
        if key not in self.robot:
            return {}
        found = flat_numbers(self.robot.at(key), len(self.joints))
        return dict(zip(self.joints, found, strict=True))

    @property
    def timestep(self) -> float:
        """Physics timestep [s]."""
        return self.root.at("scene").number("physics_dt", above=0.0)

    @property
    def tick(self) -> float:
        """From one action to the next [s]."""
        return self.root.at("scene").number("dt", above=0.0)

    def terms(self) -> list[ObservedTerm]:
        """The terms of the policy that the exporter described: it leaves some out."""
        groups = self.root.at("observations")
        if isinstance(groups.data, list):
            return [described_term(entry) for entry in groups.items()]
        key = next(
            (k for k in ("policy", "actor") if k in groups), next(iter(groups.mapping()), "")
        )
        return [described_term(entry) for entry in groups.at(key).items()]

    def actions(self) -> list[ActionTerm]:
        """The action terms."""
        found = list(self._actions())
        if not found:
            raise self.root.at("actions").error("is empty: nothing says what the network commands")
        return found

    def _actions(self) -> Iterator[ActionTerm]:
        entry = self.root.at("actions")
        items: list[VendorEntry] = (
            [e for _, e in entry.entries()] if isinstance(entry.data, dict) else entry.items()
        )
        for i, item in enumerate(items):
            yield described_action(item.text("name", str(i)), item, self.joints)


def descriptors_in(configs: Sequence[VendorFile]) -> DescriptorFile | None:
    """The descriptors among some files.

    Raises:
        SceneError: there are two, or a value is wrong.
    """
    found = [config for config in configs if config.has(*KEYS)]
    if len(found) > 1:
        raise SceneError(
            f"one run has one list of descriptors, got {found[0].path}, {found[1].path}"
        )
    return DescriptorFile(found[0]) if found else None
