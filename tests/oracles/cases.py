"""All cases, in the order in which they run."""

from importlib import import_module

from tests.oracles.case import CASES

__all__ = ["CASES"]

for _name in ("check", "tuning", "replay", "fit", "policy", "shared"):
    import_module(f"tests.oracles.{_name}_cases")
