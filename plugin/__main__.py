"""`python -m mjrig`."""

from mjrig.cli import main

raise SystemExit(main())
