"""Sandbox and trust: the folder that a scene's files must stay in, and folders with trusted code.

The caller passes the file of trusted folders: it belongs to the user's settings, never to a
scene.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from mjrig.core.errors import PropertyError
from mjrig.core.files.atomic_writes import folder_lock
from mjrig.core.files.paths import OWN, is_inside, model_files, shortened

# Sandbox ------------------------------------------------------------------------------------------
# A folder that the files of a scene must not lead out of.


_ARCHIVES = (".mjz", ".zip")


@dataclass(frozen=True)
class Sandbox:
    """The folder, without links in its name."""

    root: Path

    @classmethod
    def at(cls, folder: str | Path) -> "Sandbox":
        """The sandbox of a folder, which may be named by a link."""
        return cls(Path(os.path.realpath(folder)))

    def holds(self, path: Path) -> bool:
        """Whether a file is inside, links followed."""
        return is_inside(path, self.root)

    def admit(self, path: Path, said: object) -> None:
        """Refuse a file outside, links followed, without revealing whether it exists.

        Args:
            path: the file.
            said: what the scene calls it.

        Raises:
            PropertyError: it is outside.
        """
        if not self.holds(path):
            raise PropertyError(f"{shortened(str(said))!r} {self.outside()}")

    def admit_model(self, path: Path) -> None:
        """Refuse a model that refers to a file outside: meshes, textures, included models.

        Raises:
            PropertyError: one is outside, or the file cannot be read as MuJoCo reads it.
        """
        if path.suffix.lower() in _ARCHIVES:
            raise PropertyError(
                f"{path.name!r} is an archive, which a sandbox does not look into; unpack it"
            )
        references = model_files(path, lambda p: self.holds(p) and os.path.isfile(p))
        found = {r.text for r in references if self.holds(r.path) and os.path.isfile(r.path)}
        for reference in references:
            # What is not there must not be looked for outside either: a message would tell of it.
            leads_out = reference.exists_or_absolute or reference.text not in found
            if reference.is_resource or (leads_out and not self.holds(reference.path)):
                raise PropertyError(
                    f"{reference.inside.name!r} refers to {shortened(reference.text)!r}, which "
                    f"{self.outside()}"
                )

    def admit_package(self, module: str) -> None:
        """Refuse packages that are not mjrig's own.

        Raises:
            PropertyError: it is another one.
        """
        if module.partition(".")[0] != OWN:
            raise PropertyError(
                f"the sandbox allows files of {OWN}'s own packages only, not of "
                f"{shortened(module)!r}"
            )

    def outside(self) -> str:
        """`is outside of the sandbox '…'`."""
        return f"is outside of the sandbox {str(self.root)!r}"


# Trust --------------------------------------------------------------------------------------------
# Folders whose code the user trusts: stored in one file.
#
# The caller names the file: it belongs to the user's settings, never to a scene.


_KEY = "folders"


def trusted_folders(store: Path) -> list[Path]:
    """The folders of a store; none if there is no such file or it is damaged."""
    try:
        data = json.loads(store.read_text("utf-8"))
        return [Path(folder) for folder in data[_KEY] if isinstance(folder, str)]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def is_trusted(folder: Path, store: Path) -> bool:
    """Whether a folder, or one it is in, was trusted; links are followed."""
    real = Path(os.path.realpath(folder))
    return any(real.is_relative_to(trusted) for trusted in trusted_folders(store))


def trust(folder: Path, store: Path) -> None:
    """Remember that the code of a folder may be run.

    Raises:
        OSError: the store cannot be written.
    """
    store.parent.mkdir(parents=True, exist_ok=True)
    with folder_lock(store) as lock:
        if is_trusted(folder, store):
            return
        kept = [*trusted_folders(store), Path(os.path.realpath(folder))]
        text = json.dumps({_KEY: [str(path) for path in kept]}, indent=1, ensure_ascii=False)
        lock.replace(text + "\n")
