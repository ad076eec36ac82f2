"""`python -m selfmaint` is the command `selfmaint`."""

from selfmaint.cli import main

if __name__ == "__main__":
    main()
