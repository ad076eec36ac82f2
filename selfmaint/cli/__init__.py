"""The command line `selfmaint`."""

from selfmaint.cli.app import main

__all__ = ["main"]
