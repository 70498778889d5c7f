"""A folder that the files of a scene must not lead out of."""

import os
from dataclasses import dataclass
from pathlib import Path

from mjrig.errors import PropertyError
from mjrig.files.packages import OWN
from mjrig.files.paths import is_inside, shortened
from mjrig.files.referenced_files import model_files

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
