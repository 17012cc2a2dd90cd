"""The blocks of block coordinate descent: each is the exact minimiser of the free energy over its variables."""
