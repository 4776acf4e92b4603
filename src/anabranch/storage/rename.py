"""A rename that never overwrites, as one system call where there is one: `os.rename` replaces silently."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable

_NOREPLACE = 1
_HERE = -100
# The kernel or the file system does not know it.
_UNKNOWN = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP}


def rename_exclusively(source: str, target: str) -> None:
    """FileNotFoundError without a source; FileExistsError if the target is there."""
    if _RENAMEAT2 is not None:
        if _RENAMEAT2(_HERE, os.fsencode(source), _HERE, os.fsencode(target), _NOREPLACE) == 0:
            return
        error = ctypes.get_errno()
        if error not in _UNKNOWN:
            raise OSError(error, os.strerror(error), source, None, target)
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
    os.rename(source, target)  # noqa: PTH104 - 40,000 of them


def _renameat2() -> Callable[[int, bytes, int, bytes, int], int] | None:
    """Linux since 3.15, with glibc since 2.28 or musl."""
    try:
        function = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return None
    function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    function.restype = ctypes.c_int
    return function


_RENAMEAT2 = _renameat2()
