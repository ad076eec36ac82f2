"""Tests and their tools; a package, so that `python -m tests.bench` always means this one."""
