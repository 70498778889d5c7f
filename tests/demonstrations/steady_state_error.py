"""A joint that still settles when its step ends: its error is that of its limit, which is 0."""

from mjrig.gains import Kind, Signal
from mjrig.tuning import Choices, SignalTest, Space, sweep


def main() -> None:
    kp, kv = "arm.PDController.kp", "arm.PDController.kv"
    gains = Space((Choices(kp, (60.0, 120.0)), Choices(kv, (2.0, 10.0, 60.0))))
    step = Signal(Kind.STEP, amplitude=0.2, duration=0.3)
    scenario = SignalTest(step, joints=("shoulder_pan",))
    for row in sweep("config/scenes/arm.yaml", gains, scenario).results:
        error = row.metrics["steady_state_error"]
        print(f"kp {row.values[kp]:g}, kv {row.values[kv]:g}: {1e3 * error:.4f} mrad")
        assert abs(error) < 1e-3 * step.amplitude


if __name__ == "__main__":
    main()
