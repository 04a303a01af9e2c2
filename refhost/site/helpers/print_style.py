"""What the server says on its standard output."""

from __future__ import annotations

import sys
from typing import Any


class PrintStyle:
    def __init__(self, **style: Any) -> None:
        self.style = style

    def print(self, *args: Any, sep: str = " ", end: str = "\n", flush: bool = True) -> None:
        sys.stdout.write(sep.join(map(str, args)) + end)
        sys.stdout.flush()

    def stream(self, *args: Any, sep: str = " ", flush: bool = True) -> None:
        self.print(*args, sep=sep, end="")

    @staticmethod
    def standard(*args: Any, **kwargs: Any) -> None:
        PrintStyle().print(*args)

    @staticmethod
    def info(*args: Any, **kwargs: Any) -> None:
        PrintStyle().print("Info:", *args)

    @staticmethod
    def success(*args: Any, **kwargs: Any) -> None:
        PrintStyle().print("Success:", *args)

    @staticmethod
    def warning(*args: Any, **kwargs: Any) -> None:
        PrintStyle().print("Warning:", *args)

    @staticmethod
    def debug(*args: Any, **kwargs: Any) -> None:
        PrintStyle().print("Debug:", *args)

    @staticmethod
    def error(*args: Any, **kwargs: Any) -> None:
        PrintStyle().print("Error:", *args)
