"""``python -m corners`` is the ``corners`` command."""

from corners.cli.main import main

if __name__ == "__main__":
    main()
