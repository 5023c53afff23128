"""The guard over whole snippets, whose labels are true: each is really run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.guarded import DATA, Snippet, judged, read, run

SETS = sorted(DATA.glob("guard*.toml"))
# Names of columns are told in other words by what raises.
RAISED = {"Key", "Attribute", "ColumnNotFound", "UndefinedVariable", "Binder", "Value", "Merge"}
SNIPPETS = [(path, each) for path in SETS for each in read(path).all]


@pytest.mark.parametrize(
    ("path", "snippet"), SNIPPETS, ids=[f"{p.stem}-{at}" for at, (p, _) in enumerate(SNIPPETS)]
)
def test_right_code_is_never_refused_and_made_up_names_are_told(
    path: Path, snippet: Snippet
) -> None:
    namespace = read(path).namespace()
    verdict = judged(snippet.code, namespace)
    error = run(snippet.code, namespace)
    if not snippet.name:
        assert error is None
        assert not verdict.refusal
        return
    assert error is not None
    assert type(error).__name__.removesuffix("Error").removesuffix("Exception") in RAISED
    found = [*verdict.certain, *verdict.doubtful]
    assert any(repr(snippet.name) in each.what for each in found)
    assert not snippet.near or snippet.near in {near for each in found for near in each.near}


def test_there_are_enough_of_both() -> None:
    right = [each for _, each in SNIPPETS if not each.name]
    assert len(right) >= 60
    assert len(SNIPPETS) - len(right) >= 60


def test_nearly_all_that_is_made_up_is_certain() -> None:
    wrong = [(path, each) for path, each in SNIPPETS if each.name]
    refused = [each for path, each in wrong if judged(each.code, read(path).namespace()).refusal]
    assert len(refused) >= 0.95 * len(wrong)
