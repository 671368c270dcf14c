"""truthguard: gates language models on truthfulness, inside pytest.

Importing the package imports nothing heavy: the public names load on first use (PEP 562).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from truthguard.errors import DataError, ModelError, StoreError, TrustError, TruthguardError, UsageError
    from truthguard.plan import Plan, make_plan
    from truthguard.runner import run
    from truthguard.store.record import read_record

__version__ = "0.1.0"

_HOMES = {
    "DataError": "truthguard.errors",
    "ModelError": "truthguard.errors",
    "Plan": "truthguard.plan",
    "StoreError": "truthguard.errors",
    "TrustError": "truthguard.errors",
    "TruthguardError": "truthguard.errors",
    "UsageError": "truthguard.errors",
    "make_plan": "truthguard.plan",
    "read_record": "truthguard.store.record",
    "run": "truthguard.runner",
}

__all__ = [
    "DataError",
    "ModelError",
    "Plan",
    "StoreError",
    "TrustError",
    "TruthguardError",
    "UsageError",
    "__version__",
    "make_plan",
    "read_record",
    "run",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
