"""Which functions can be sent, and that they do there what they do here."""

from __future__ import annotations

import functools
import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from genericjob import NotSendable, source

LEARNING_RATE = 0.1
COUNTED = 0


def runs(function: Callable[..., object], **arguments: object) -> str:
    """What a function prints, as it is run in a pod. A kubelet takes $$ for $."""
    python, *words = [word.replace("$$", "$") for word in source.command(function, arguments)]
    assert python == "python3"
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=600, check=False)  # noqa: S603 (ours)
    return done.stdout + done.stderr


def greet(name: str, times: int = 1, **more: Any) -> None:
    import json

    print(f"hello {name} " * times, json.dumps(more))  # noqa: T201 (that is its work)


def quote() -> None:
    print("""$(rank) $$(x) ${HOME} $$ 'single' "double" \\ back `tick` ü 雪
 flush left""")  # noqa: T201


def fails() -> None:
    raise ValueError("on purpose")


def spawns() -> None:
    import multiprocessing

    context = multiprocessing.get_context("spawn")
    child = context.Process(target=print, args=("from a child",), daemon=True)
    child.start()
    child.join()


def recurses(n: int) -> int:
    class Net:
        size = 1
        other = size

    def inner() -> int:
        global COUNTED  # noqa: PLW0603
        COUNTED = n
        return COUNTED

    return inner() if n == 0 else recurses(n - 1) + Net.other


def test_arguments_arrive() -> None:
    out = runs(greet, name='it\'s "me"\n', times=2, a=[1, 2.5, None, True], b={"k": ("t",), "e": ()})
    assert out == 'hello it\'s "me"\n hello it\'s "me"\n  {"a": [1, 2.5, null, true], "b": {"k": ["t"], "e": []}}\n'


def test_no_character_is_changed() -> None:
    assert runs(quote) == "$(rank) $$(x) ${HOME} $$ 'single' \"double\" \\ back `tick` ü 雪\n flush left\n"


def test_nothing_is_left_for_kubernetes_to_expand() -> None:
    text = source.command(quote, {})[-1]
    assert "$" not in text.replace("$$", "")


def test_a_traceback_shows_the_line() -> None:
    assert 'raise ValueError("on purpose")\nValueError: on purpose' in runs(fails)


def test_processes_can_be_spawned() -> None:
    assert runs(spawns) == "from a child\n"


def test_recursion_classes_and_globals_of_its_own() -> None:
    assert runs(recurses, n=2) == ""


def test_a_function_inside_another() -> None:
    def nested() -> None:
        """Says
        something."""
        print(nested.__doc__ if False else "nested")  # type: ignore[unreachable, unused-ignore] # noqa: T201

    with pytest.raises(NotSendable, match="uses nested of the function around it"):
        source.program(nested, {})

    def alone() -> None:
        print("""two
lines""")  # noqa: T201

    assert runs(alone) == "two\nlines\n"


@functools.lru_cache
def cached() -> None: ...


def decorated(function: Callable[[], None]) -> Callable[[], None]:
    @functools.wraps(function)
    def around() -> None:
        LEARNING_RATE  # noqa: B018

    return around


@decorated
def wrapped() -> None: ...


def uses_a_global() -> float:
    return LEARNING_RATE


def defaults_to_a_global(rate: float = LEARNING_RATE) -> None: ...


def uses_a_module() -> float:
    return math.sqrt(2) + sum(math.pi for _ in range(2))


def annotated(rate: np.ndarray) -> None:  # type: ignore[name-defined] # noqa: F821
    ...


async def asynchronous() -> None: ...


def generates() -> Iterator[int]:
    yield 1


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda: None, "a lambda cannot be sent"),
        (print, "is no function that def defines"),
        (functools.partial(greet, name="x"), "is no function that def defines"),
        (cached, "is no function that def defines"),
        (asynchronous, "async"),
        (generates, "generator"),
        (uses_a_global, "uses_a_global.. uses LEARNING_RATE from outside"),
        (defaults_to_a_global, "uses LEARNING_RATE from outside"),
        (uses_a_module, "uses math from outside of it, which is not sent: import or define it inside"),
        (greet, "cannot be called with {}: missing a required .*argument: 'name'"),
    ],
)
def test_what_cannot_be_sent_is_told(function: Callable[..., object], message: str) -> None:
    with pytest.raises(NotSendable, match=message):
        source.program(function, {})


def test_decorators_are_not_sent() -> None:
    with pytest.raises(NotSendable, match="has decorators, which are not sent"):
        source.program(wrapped, {})


def test_annotations_are_not_evaluated() -> None:
    assert "x" not in runs(annotated, rate=1)


def test_a_function_without_source() -> None:
    names: dict[str, Any] = {}
    exec("def made(): pass", names)  # noqa: S102
    with pytest.raises(NotSendable, match=r"made\(\) has no source: define it in a notebook's cell or in a file"):
        source.program(names["made"], {})


@pytest.mark.parametrize("value", [math.inf, math.nan, object(), {1, 2}, b"x", [print]])
def test_values_that_python_cannot_write(value: object) -> None:
    with pytest.raises(NotSendable, match=r"argument 'name' has .* want None, bool, a finite number"):
        source.program(greet, {"name": value})


def test_what_linux_does_not_take_is_told() -> None:
    fits = source.program(greet, {"name": ""})
    most = "x" * (source.MAX_BYTES - len(fits.encode()))
    assert runs(greet, name=most).startswith("hello xxx")
    with pytest.raises(NotSendable, match="is 131072 bytes long, and Linux takes 131071 at most"):
        source.program(greet, {"name": most + "x"})


@pytest.mark.parametrize(("function", "name"), [(uses_a_global, "uses-a-global"), (None, "job"), (lambda: None, "job")])
def test_names_of_jobs(function: Callable[..., object] | None, name: str) -> None:
    assert source.name_of(function) == name
