"""`python -m gnomon` is the command `gnomon`."""

from gnomon.cli import entry

if __name__ == "__main__":
    entry()
