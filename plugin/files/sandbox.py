"""A folder that the files of a scene must not lead out of."""

import os
from dataclasses import dataclass
from importlib.metadata import packages_distributions
from pathlib import Path

from mjrig.errors import PropertyError
from mjrig.files.referenced_files import model_files


@dataclass(frozen=True)
class Sandbox:
    """The folder, without links in its name."""

    root: Path

    @classmethod
    def at(cls, folder: str | Path) -> "Sandbox":
        """The sandbox of a folder, which may be named by a link."""
        return cls(Path(os.path.realpath(folder)))

    def admit(self, path: Path, said: object) -> None:
        """Refuse a file outside, links followed, without revealing whether it exists.

        Args:
            path: the file.
            said: what the scene calls it.

        Raises:
            PropertyError: it is outside.
        """
        if not self._holds(path):
            raise PropertyError(f"{str(said)!r} {self._outside()}")

    def admit_model(self, path: Path) -> None:
        """Refuse a model that refers to a file outside: meshes, textures, included models.

        Raises:
            PropertyError: one is outside, or the file cannot be read as MuJoCo reads it.
        """
        references = model_files(path, lambda p: self._holds(p) and p.is_file())
        found = {r.text for r in references if self._holds(r.path) and r.path.is_file()}
        for reference in references:
            # What is not there must not be looked for outside either: a message would tell of it.
            leads_out = reference.exists_or_absolute or reference.text not in found
            if leads_out and not self._holds(reference.path):
                raise PropertyError(
                    f"{reference.inside.name!r} refers to {reference.text!r}, which "
                    f"{self._outside()}"
                )

    def admit_package(self, module: str, inside: str) -> None:
        """Refuse what is not a file of an installed package.

        Raises:
            PropertyError: the package is not installed, or the name leads out of it.
        """
        if module.partition(".")[0] not in packages_distributions():
            raise PropertyError(f"the sandbox allows installed packages only, not {module!r}")
        if ".." in Path(inside).parts or inside.startswith("/"):
            raise PropertyError(f"{inside!r} leads outside of the package {module!r}")

    def _holds(self, path: Path) -> bool:
        try:
            return Path(os.path.realpath(path)).is_relative_to(self.root)
        except (OSError, ValueError):  # a name no file can have
            return False

    def _outside(self) -> str:
        return f"is outside of the sandbox {str(self.root)!r}"
