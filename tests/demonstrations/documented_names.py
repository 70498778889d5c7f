"""Names that the docs write work after `import mjrig` alone."""

import mjrig

for name in ("sim.export", "gains", "tuning", "recording", "properties", "components"):
    value = mjrig
    for part in name.split("."):
        value = getattr(value, part)
    print(f"mjrig.{name}: {type(value).__name__}")
