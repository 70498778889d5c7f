"""Where the checkout and the files beside it are."""

from importlib.resources import files
from pathlib import Path

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
DOCS = ROOT / "docs"
#: Numbers, robots and policies of other systems; tests that need them skip where it is absent.
SHARED = ROOT.parent / "shared"
#: Packages of third parties, as users would write them.
THIRD_PARTY = TESTS / "third_party"
#: Scenes and models as they are installed.
SCENES = Path(str(files("mjrig.config").joinpath("scenes")))
ASSETS = Path(str(files("mjrig.assets")))
