"""Importers: policies and recordings of other stacks."""

from typing import TYPE_CHECKING

from mjrig.lazy import exports

if TYPE_CHECKING:
    from mjrig.components.importers.importing import Imported as Imported
    from mjrig.components.importers.importing import RefusedError as RefusedError
    from mjrig.components.importers.importing import import_policy as import_policy
    from mjrig.components.importers.sources.overrides import Overrides as Overrides

_HOME = {
    "import_policy": "components.importers.importing",
    "Imported": "components.importers.importing",
    "Overrides": "components.importers.sources.overrides",
    "RefusedError": "components.importers.importing",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(__name__, _HOME)
