"""How fast, beside the plain way: `make bench`, not a test. One file for each case, in `cases/`."""
