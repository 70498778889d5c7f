"""Diagnosis of a replay: one difference undone at a time, other joint orders tried."""
