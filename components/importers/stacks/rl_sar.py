"""rl_sar: `base.yaml` of a robot, `config.yaml` of a policy, which wins, and a network."""

from pathlib import Path
from typing import Any

from mjrig.components.importers.sources import terms
from mjrig.components.importers.sources.found import FoundPolicy, Start, Term, ValueOrder
from mjrig.components.importers.sources.source import PolicySource
from mjrig.components.importers.sources.vendor_file import VendorEntry, VendorFile
from mjrig.errors import SceneError
from mjrig.names import suggestion

#: How long the robot stands before the policy begins; the stack waits for a key press [s].
STAND = 1.0
_TERMS = ("ang_vel", "ang_vel_body", "gravity_vec", "commands", "dof_pos", "dof_vel", "actions",
          "lin_vel")  # fmt: skip


def recognises(source: PolicySource) -> bool:
    """By the one key of the robot with what all files of the stack have under it."""
    return any(_inside(config) is not None for config in source.configs)


def _inside(config: VendorFile) -> VendorEntry | None:
    """The value of the only key, if it looks like rl_sar's."""
    if not isinstance(config.data, dict) or len(config.data) != 1:
        return None
    _, entry = next(config.root.entries())
    keys = {"num_of_dofs", "joint_mapping", "default_dof_pos"}
    return entry if isinstance(entry.data, dict) and keys <= set(entry.data) else None


class Layers:
    """Both files merged: config.yaml overrides base.yaml."""

    def __init__(self, entries: list[VendorEntry]) -> None:
        self.entries = entries

    def where(self, key: str) -> VendorEntry:
        """The file that has the key, or the first, which then raises."""
        return next((e for e in self.entries if key in e), self.entries[0])

    def __contains__(self, key: str) -> bool:
        return any(key in e for e in self.entries)

    def numbers(self, key: str, size: int) -> list[float]:
        """One number per joint."""
        return self.where(key).numbers(key, size)

    def number(self, key: str, default: float | None = None) -> float:
        """A number."""
        entry = self.where(key)
        return entry.number(key) if default is None else entry.number(key, default)


def read(source: PolicySource) -> FoundPolicy:
    """The policy described by both files.

    Raises:
        SceneError: a file or a key is missing, or has a wrong value.
    """
    files, notes = _layers(source)
    said = Layers([e for _, e in files])
    count = said.where("num_of_dofs").whole("num_of_dofs")
    sdk = said.where("joint_names").texts("joint_names", distinct=True)
    mapping = said.where("joint_mapping").indices("joint_mapping", count, len(sdk))
    wheels = said.where("wheel_indices").numbers("wheel_indices") if "wheel_indices" in said else []
    kinds = ["velocity" if i in wheels else "position" for i in range(count)]
    names = tuple(sdk[i] for i in mapping)
    stand = Start(STAND, said.numbers("fixed_kp", count), said.numbers("fixed_kd", count))
    return FoundPolicy(
        stack="rl_sar",
        robot=files[0][0].partition("/")[0],
        count=count,
        order=ValueOrder.NAMES,
        names=names,
        timestep=said.where("dt").number("dt", above=0.0),
        tick=said.number("dt") * said.where("decimation").whole("decimation"),
        state="float32",
        kp=said.numbers("rl_kp", count),
        kv=said.numbers("rl_kd", count),
        default=said.numbers("default_dof_pos", count),
        start=stand,
        terms=_terms(said, count, [names[int(i)] for i in wheels]),
        clip=said.number("clip_obs") if "clip_obs" in said else None,
        history=_history(said),
        action=_action(said, count),
        kinds=kinds,
        command={"names": ["vx", "vy", "wz"]},
        size=said.where("num_observations").whole("num_observations"),
        trained={"torque_limit": said.numbers("torque_limits", count)}
        if "torque_limits" in said
        else {},
        notes=(*notes, "the stack only logs torque_limits: they are not applied"),
        assumed=(f"the robot stands for {STAND:g} s before the policy begins",),
    )


def _layers(source: PolicySource) -> tuple[list[tuple[str, VendorEntry]], list[str]]:
    """Name and content, the policy's file first; a base.yaml beside it is found."""
    notes = []
    files = {}
    for config in source.configs:
        entry = _inside(config)
        if entry is None:
            raise SceneError(f"{config.path.name}: is not a file of rl_sar")
        files[next(iter(config.data))] = (config, entry)
    names = sorted(files, key=lambda name: "/" not in name)
    if all("/" in name for name in names):
        beside = files[names[0]][0].path.resolve().parent.parent / "base.yaml"
        base, entry = _base(beside, names[0])
        source.configs = (*source.configs, base)
        robot = next(iter(base.data))
        files[robot], names = (base, entry), [*names, robot]
        notes.append("base.yaml was found in the folder above")
    elif not any("/" in name for name in names):
        raise SceneError(f"{files[names[0]][0].path.name}: give the policy's config.yaml too")
    if len(names) != 2 or names[0].partition("/")[0] != names[1]:
        raise SceneError(f"files of different robots: {' and '.join(names)}")
    return [(name, files[name][1]) for name in names], notes


def _base(path: Path, name: str) -> tuple[VendorFile, VendorEntry]:
    if not path.is_file():
        raise SceneError(f"{name} needs the base.yaml of its robot: give it too")
    base = VendorFile(path)
    entry = _inside(base)
    if entry is None:
        raise SceneError(f"{path.name}: is not a base.yaml of rl_sar")
    return base, entry


def _terms(said: Layers, count: int, wheels: list[str]) -> list[Term]:
    entry = said.where("observations")
    found = []
    for name in entry.texts("observations"):
        if name not in _TERMS:
            place = entry.at("observations")
            raise place.error(f"there is no term for {name!r}; {suggestion(name, _TERMS)}")
        found.append(_term(name, said, count, wheels))
    return found


def _term(name: str, said: Layers, count: int, wheels: list[str]) -> Term:
    more = {"history": _length(said)}
    if name.startswith("ang_vel"):
        return terms.angular_velocity(said.number("ang_vel_scale"), **more)
    if name == "lin_vel":
        return terms.linear_velocity(said.number("lin_vel_scale"), **more)
    if name == "gravity_vec":
        return terms.gravity(**more)
    if name == "commands":
        return terms.command(said.numbers("commands_scale", 3), **more)
    return _joint_term(name, said, count, wheels, **more)


def _joint_term(name: str, said: Layers, count: int, wheels: list[str], **more: Any) -> Term:
    if name == "dof_pos":
        zero = wheels or None  # the stack hides the angle of wheels
        return terms.positions(count, said.number("dof_pos_scale"), zero=zero, **more)
    if name == "dof_vel":
        return terms.velocities(count, said.number("dof_vel_scale"), **more)
    return terms.last_action(count, **more)


def _length(said: Layers) -> int:
    if "observations_history" not in said:
        return 1
    return max(1, len(said.where("observations_history").numbers("observations_history")))


def _history(said: Layers) -> dict[str, Any]:
    if _length(said) == 1:
        return {}
    entry = said.where("observations_history")
    places = entry.numbers("observations_history")
    rising = [float(i) for i in range(len(places))]
    if places not in (rising, rising[::-1]):
        raise entry.at("observations_history").error("must be 0, 1, 2, … or the same backwards")
    priority = said.where("observations_history_priority").text(
        "observations_history_priority", "time"
    )
    return {
        "order": "newest_first" if places == rising else "oldest_first",
        "fill": "zeros",
        "by": "frame" if priority == "time" else "term",
    }


def _action(said: Layers, count: int) -> dict[str, Any]:
    action: dict[str, Any] = {"scale": said.numbers("action_scale", count), "dtype": "float32"}
    if "clip_actions_lower" in said:
        low, high = (said.numbers(f"clip_actions_{side}", count) for side in ("lower", "upper"))
        action["clip"] = [low, high]
    return action
