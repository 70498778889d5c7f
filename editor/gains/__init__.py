"""The gain table and the response panel."""
