"""Importers: policies and recordings of other stacks."""

from typing import TYPE_CHECKING

from mjrig.core.lazy_exports import exports

if TYPE_CHECKING:
    from mjrig.components.importers.policy_import import Imported as Imported
    from mjrig.components.importers.policy_import import RefusedError as RefusedError
    from mjrig.components.importers.policy_import import import_policy as import_policy
    from mjrig.components.importers.sources.overrides import Overrides as Overrides

_HOME = {
    "import_policy": "components.importers.policy_import",
    "Imported": "components.importers.policy_import",
    "Overrides": "components.importers.sources.overrides",
    "RefusedError": "components.importers.policy_import",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(__name__, _HOME)
