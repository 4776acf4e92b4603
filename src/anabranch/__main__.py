"""`python -m anabranch`: the same as the command `anabranch`."""

from anabranch.cli.main import main

main()
