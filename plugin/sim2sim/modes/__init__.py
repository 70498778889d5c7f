"""The three ways to replay: kinematic, targets, policy."""
