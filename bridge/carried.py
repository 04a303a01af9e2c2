"""What a tool's instance carries from `execute` to `after_execution`: what that one, and what it calls on itself, can read.

A shell tool leaves its live sessions on itself and never looks at them again; such a result can be given back. Where
the code does not tell, everything counts as read.
"""

from __future__ import annotations

import dis
import inspect
import itertools
from types import FunctionType
from typing import Any

_ATTRIBUTE = ("LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "DELETE_ATTR", "LOAD_SUPER_ATTR", "LOAD_SUPER_METHOD")


def read_afterwards(kind: type) -> set[str] | None:
    """Names of attributes that `after_execution` of this class may read; None if that cannot be told."""
    seen, ahead = set[str](), ["after_execution"]
    while ahead:
        name = ahead.pop()
        if name in seen:
            continue
        seen.add(name)
        for member in (vars(each)[name] for each in kind.__mro__ if name in vars(each)):
            names = _read(member)
            if names is None:
                return None
            ahead += names
    return seen


def _read(member: Any) -> set[str] | None:
    """The attributes of its own instance that a method names; None if it hands the instance on, or is no plain function."""
    if isinstance(member, property):
        member = member.fget
    if not isinstance(member, FunctionType):
        return None if callable(member) or hasattr(member, "__get__") else set()
    code = inspect.unwrap(member).__code__
    itself = code.co_varnames[0] if code.co_argcount else None
    if itself in code.co_cellvars:
        return None
    names = set()
    steps = list(dis.get_instructions(code))
    for step, following in itertools.pairwise(steps):
        loaded = step.argval if isinstance(step.argval, tuple) else (step.argval,)
        if not step.opname.startswith("LOAD_FAST") or itself not in loaded:
            continue
        if itself in loaded[:-1] or following.opname not in _ATTRIBUTE:
            return None
        names.add(str(following.argval))
    return names
