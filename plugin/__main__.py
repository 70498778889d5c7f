"""`python -m mjrig`."""

from mjrig.cli.main import main

raise SystemExit(main())
