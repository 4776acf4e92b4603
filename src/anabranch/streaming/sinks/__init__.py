"""Where results go: one file for each kind of sink, with its policies for writing, rewinding and stopping.

A new kind is a subclass of `Sink` in pipeline/definition.py, and a file here that ends with `register(...)`.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from anabranch.streaming.sinks.base import policy_for, policy_of

__all__ = ["policy_for", "policy_of"]

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
