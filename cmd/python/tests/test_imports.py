import ast
from graphlib import TopologicalSorter
from pathlib import Path

SOURCES = Path(__file__).parent.parent / "src" / "genericjob"


def imported(module: Path) -> set[str]:
    """The modules of the package that one imports, also those for types alone."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            names |= {node.module} if node.module else {a.name for a in node.names}
    return names


def test_imports_make_no_circle() -> None:
    modules = {m.stem: imported(m) for m in SOURCES.glob("*.py") if m.stem != "__init__"}
    assert modules["wire"]
    TopologicalSorter(modules).prepare()  # raises CycleError
