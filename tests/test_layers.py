"""The house's floors: who may import whom, read from the code with ast, imports inside functions included."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "truthguard"

# Imports go downwards only. A module is looked up by its longest listed prefix.
FLOORS = {
    "truthguard.plugin": 5,
    "truthguard.__main__": 5,
    "truthguard": 5,  # the lazy public names
    "truthguard.commands": 4,
    "truthguard.plan": 4,
    "truthguard.runner": 4,
    "truthguard.fetch": 4,
    "truthguard.importing": 4,
    "truthguard.benchmarks": 3,
    "truthguard.backends": 3,
    "truthguard.judges": 2,
    "truthguard.comparison": 2,
    "truthguard.thresholds": 2,
    "truthguard.store": 2,
    "truthguard.report": 2,
    # Pages are made of stored records, the terminal's lines of results that are still at hand.
    "truthguard.report.html": 3,
    "truthguard.metrics": 1,
    "truthguard.backends.protocol": 1,
    "truthguard.backends.packing": 1,
    "truthguard.records": 0,
    "truthguard.errors": 0,
    "truthguard.catalogue": 0,
    "truthguard.text": 0,
    "truthguard.changes": 0,
}
# What a process may load only when a number is computed.
HEAVY = {
    "torch": {"truthguard.backends"},
    "transformers": {"truthguard.backends"},
    "huggingface_hub": {"truthguard.backends"},
    "openai": {"truthguard.backends"},
    "sacrebleu": {"truthguard.judges"},
    "rouge_score": {"truthguard.judges"},
    "scipy": {"truthguard.metrics"},
    "numpy": {"truthguard.metrics", "truthguard.backends"},
    "pytest": {"truthguard.plugin"},
    "_pytest": set[str](),
    "sqlite3": {"truthguard.store"},
    "pooch": {"truthguard.fetch"},
    "tomlkit": {"truthguard.thresholds"},
    "matplotlib": {"truthguard.report"},
    "jinja2": {"truthguard.report"},
}
STANDARD = set(sys.stdlib_module_names)


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """Every module that a file imports, with the line; `from a import b` counts as a.b where that is a module."""
    known = {name for name, _ in modules()}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative imports hide who imports whom"
            assert node.module
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield (full if full in known else node.module), node.lineno


def floor(module: str) -> int:
    name = module
    while name not in FLOORS:
        name = name.rpartition(".")[0]
    return FLOORS[name]


def home(module: str) -> str:
    """The package below truthguard, or the module itself."""
    return ".".join(module.split(".")[:2])


@pytest.mark.parametrize(("module", "path"), list(modules()), ids=[name for name, _ in modules()])
def test_imports_go_down(module: str, path: Path) -> None:
    """A module imports from lower floors, its own package, or the standard library; on the ground all is shared."""
    for imported, line in imports(path):
        if imported.partition(".")[0] != "truthguard" or imported == "truthguard":
            continue
        allowed = floor(imported) < floor(module) or home(imported) == home(module) or floor(module) == 0
        assert allowed, f"{path}:{line}: {module} imports {imported}"


@pytest.mark.parametrize(
    "module",
    ["truthguard.records", "truthguard.errors", "truthguard.catalogue", "truthguard.text", "truthguard.changes"],
)
def test_the_ground_floor_needs_the_standard_library_alone(module: str) -> None:
    """What everything rests on rests on nothing of ours but itself."""
    path = dict(modules())[module]
    for imported, line in imports(path):
        top = imported.partition(".")[0]
        assert top in STANDARD or (top == "truthguard" and floor(imported) == 0), f"{path}:{line}: {imported}"


@pytest.mark.parametrize(("module", "path"), list(modules()), ids=[name for name, _ in modules()])
def test_heavy_libraries_stay_in_their_rooms(module: str, path: Path) -> None:
    """torch is imported by the backends, pytest by the plugin, and so on."""
    for imported, line in imports(path):
        rooms = HEAVY.get(imported.partition(".")[0])
        if rooms is not None:
            assert any(module == room or module.startswith(room + ".") for room in rooms), f"{path}:{line}: {imported}"


def loaded_after(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def test_importing_the_package_imports_nothing_heavy() -> None:
    """`import truthguard` costs next to nothing; a public name loads what it needs."""
    loaded = loaded_after("import truthguard")
    assert not loaded & {"numpy", "torch", "pydantic", "pytest", "platformdirs", "truthguard.records"}
    assert "truthguard.errors" in loaded_after("from truthguard import UsageError")


def test_loading_the_plugin_needs_pytest_and_the_standard_library() -> None:
    """What every project pays for: no pydantic, no numpy, nothing of ours but the options."""
    loaded = loaded_after("import truthguard.plugin")
    assert not loaded & {"pydantic", "numpy", "scipy", "torch", "tqdm", "platformdirs", "filelock", "sqlite3"}
    ours = {name for name in loaded if name.startswith("truthguard.")}
    assert ours == {"truthguard.plugin", "truthguard.plugin.options"}


def test_every_public_name_is_there() -> None:
    """The lazy table and __all__ agree, and an unknown name is an AttributeError."""
    import truthguard

    for name in truthguard.__all__:
        assert getattr(truthguard, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        truthguard.nothing  # noqa: B018
