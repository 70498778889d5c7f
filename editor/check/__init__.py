"""The pre-flight in the window: the binding table and findings, after every edit."""
