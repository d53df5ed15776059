"""Makes a program of a function: its source, and a call of it."""

from __future__ import annotations

import ast
import builtins
import dis
import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from types import CodeType
from typing import Any

from .errors import NotSendable

MAX_BYTES = 131_071
"""The longest argument that Linux passes to a program, in bytes."""

RUN = """\
import os, sys, tempfile
path = os.path.join(tempfile.mkdtemp(), "genericjob_function.py")
with open(path, "wb") as f:
    f.write(os.fsencode(sys.argv[1]))
os.execv(sys.executable, [sys.executable, "-u", path])
"""
"""Runs the program that is its argument. It is a file first, for tracebacks, and for processes that are spawned."""

_PROGRAM = """\
# {name}(), as genericjob was given it.
from __future__ import annotations

{source}

if __name__ == "__main__":
    {name}({arguments})
"""

_ALWAYS_THERE = {*dir(builtins), "__name__", "__file__", "__annotations__"}


def command(function: Callable[..., object], arguments: Mapping[str, object]) -> list[str]:
    """The command of a container that calls a function. Kubernetes shall not take what stands in it for its variables."""
    return ["python3", "-c", RUN, program(function, arguments).replace("$", "$$")]


def program(function: Callable[..., object], arguments: Mapping[str, object]) -> str:
    """The source of a function, followed by a call of it. Raises NotSendable if it could not run elsewhere."""
    name = _check_function(function)
    _check_arguments(function, name, arguments)
    source = _source(function, name)
    given = ", ".join(f"{key}={_literal(value, f'argument {key!r}')}" for key, value in arguments.items())
    text = _PROGRAM.format(name=name, source=source, arguments=given)
    _check_names(text, name)
    if len(text.encode()) > MAX_BYTES:
        raise NotSendable(f"{name}() is {len(text.encode())} bytes long, and Linux takes {MAX_BYTES} at most: put it into the image")
    return text


def _check_function(function: Callable[..., object]) -> str:
    if not inspect.isfunction(function):
        raise NotSendable(f"{function!r} is no function that def defines: wrap it in one")
    name = function.__name__
    if name == "<lambda>":
        raise NotSendable("a lambda cannot be sent: define a function with def")
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise NotSendable(f"{name}() is async, or a generator: a call of it would run nothing")
    if function.__code__.co_freevars:
        free = ", ".join(function.__code__.co_freevars)
        raise NotSendable(f"{name}() uses {free} of the function around it, which is not sent: pass it as an argument")
    return name


def _check_arguments(function: Callable[..., object], name: str, arguments: Mapping[str, object]) -> None:
    try:
        inspect.signature(function).bind(**arguments)
    except TypeError as e:
        raise NotSendable(f"{name}() cannot be called with {dict(arguments)}: {e}") from e


def _source(function: Callable[..., object], name: str) -> str:
    try:
        source = inspect.getsource(function)
    except OSError as e:
        raise NotSendable(f"{name}() has no source: define it in a notebook's cell or in a file") from e
    if source[0].isspace():
        source = "if True:\n" + source  # to take the indentation away would change strings of several lines
    try:
        tree = ast.parse(source)
    except SyntaxError as e:
        raise NotSendable(f"the source of {name}() is not Python alone, in its line {e.lineno}: {e.text}") from e
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    if not found or found[0].name != name:
        raise NotSendable(f"the source of {name}() cannot be told from what stands around it: give it lines of its own")
    if found[0].decorator_list:
        raise NotSendable(f"{name}() has decorators, which are not sent: apply them inside of it")
    return source


def _literal(value: object, where: str) -> str:
    """A value as Python writes it. Types are compared exactly: a number of NumPy's is written otherwise."""
    kind = type(value)
    if value is None or kind in (bool, int, str):
        return repr(value)
    if kind is float and math.isfinite(value):  # type: ignore[arg-type]
        return repr(value)
    if isinstance(value, (list, tuple)) and kind in (list, tuple):
        inner = ", ".join(_literal(v, where) for v in value)
        return f"[{inner}]" if kind is list else f"({inner},)" if value else "()"
    if isinstance(value, dict) and kind is dict:
        return "{" + ", ".join(f"{_literal(k, where)}: {_literal(v, where)}" for k, v in value.items()) + "}"
    raise NotSendable(
        f"{where} has {value!r} of type {kind.__name__}: want None, bool, a finite number, str, or lists, tuples and dicts of them"
    )


def _check_names(text: str, name: str) -> None:
    missing = sorted(set(_globals_of(compile(text, f"{name}()", "exec", dont_inherit=True))))
    if missing:
        raise NotSendable(
            f"{name}() uses {', '.join(missing)} from outside of it, which is not sent: "
            "import or define it inside, or pass it as an argument"
        )


def _globals_of(module: CodeType) -> Iterator[str]:
    """The names that a program takes from nowhere."""
    defined = set(_ALWAYS_THERE)
    used: list[str] = []
    todo = [module]
    while todo:
        code = todo.pop()
        todo.extend(c for c in code.co_consts if isinstance(c, CodeType))
        own = {str(i.argval) for i in dis.get_instructions(code) if i.opname == "STORE_NAME"}
        if code is module:
            defined |= own
        else:
            own |= {"__module__", "__qualname__"}  # of a class
        for i in dis.get_instructions(code):
            if i.opname == "STORE_GLOBAL":
                defined.add(i.argval)
            elif i.opname in ("LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS") or (i.opname == "LOAD_NAME" and i.argval not in own):
                used.append(i.argval)
    return (n for n in used if n not in defined)


def name_of(function: Callable[..., Any] | None) -> str:
    """A name for a job that runs a function, without what makes it unique."""
    text = getattr(function, "__name__", "job").lower().replace("_", "-").strip("-")
    return text if text[:1].isalpha() and text.isascii() and text.replace("-", "").isalnum() else "job"
