"""The running actor: articulation, setpoints, controllers, leases, executions, telemetry."""
