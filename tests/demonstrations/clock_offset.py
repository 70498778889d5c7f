"""A sender whose clock is 2 s behind: its offset is estimated, reported once and corrected."""

from mjrig.components.bridges.dds.writers import Writers

MS = 1_000_000
writers = Writers(0.5, name_of=lambda handle: f"program {handle}")
used = 0
for k in range(1_000):
    now = 10_000_000 * MS + k * 10 * MS
    try:
        writers.check(1, sent=now - 2_001 * MS, now=now)
        used += 1
    except ValueError as error:
        message = str(error)
print(f"{used} of 1,000 commands used; {writers.notes[0]}")
print(f"rejected before that: {message}")
assert used >= 890 and len(writers.notes) == 1 and "max_age" in message
