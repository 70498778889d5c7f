"""Tests of the pages of joints and actuators."""
