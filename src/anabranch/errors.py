"""Everything Anabranch says when it cannot go on: a fact, and a way out.

    AnabranchError
    ├── Failed     1   the world let us down: no broker, no disk, no answer
    ├── Misused    2   the command or the configuration is not right
    └── Refused    3   it could be done, it would do harm; nothing was changed

The class says who must act and carries the exit code; the command line prints `fact`, then each way out behind `->`.
"""

from __future__ import annotations


class AnabranchError(Exception):
    exit_code = 1

    def __init__(self, fact: str, *ways_out: str) -> None:
        super().__init__(fact)
        self.fact = fact
        self.ways_out = ways_out

    def __str__(self) -> str:
        return "\n".join([self.fact, *(f"  -> {way_out}" for way_out in self.ways_out)])


class Failed(AnabranchError):
    exit_code = 1


class Misused(AnabranchError):
    exit_code = 2


class Refused(AnabranchError):
    exit_code = 3
