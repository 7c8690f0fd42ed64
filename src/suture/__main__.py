"""`python -m suture` is the command line."""

from suture.cli import main

if __name__ == "__main__":
    main()
