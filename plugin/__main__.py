"""`python -m mjrig`."""

from mjrig.cli.cli import main

raise SystemExit(main())
