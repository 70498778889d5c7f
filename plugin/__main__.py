"""`python -m mjrig`."""

import os
import sys

# Python puts the current folder first: what lies there must not pass for an installed package.
if sys.path and sys.path[0] in ("", os.getcwd()):
    del sys.path[0]

from mjrig.cli.main import main

raise SystemExit(main())
