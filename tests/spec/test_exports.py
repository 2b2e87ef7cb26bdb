"""The spec package exports what is meant to be used, and no more."""

from __future__ import annotations

import penstock.spec
import penstock.spec.rules.every


def test_exports_are_there_once() -> None:
    for module in (penstock.spec, penstock.spec.rules.every):
        assert len(set(module.__all__)) == len(module.__all__)
        assert [name for name in module.__all__ if not hasattr(module, name)] == []


def test_rules_module_and_package_export_the_same_objects() -> None:
    for name in penstock.spec.rules.every.__all__:
        assert getattr(penstock.spec.rules.every, name) is getattr(penstock.spec, name)
