"""How much a test tries: little in `make test`, much in `make campaign`."""

import os

#: Whether this is `make campaign`.
CAMPAIGN = os.environ.get("MJRIG_CAMPAIGN", "") not in ("", "0")


def amount(usual: int, campaign: int) -> int:
    """The number of examples, edits or steps; a test that asks for it is marked `campaign`."""
    return campaign if CAMPAIGN else usual
