"""What GitHub Actions reads: annotations and the summary of a step."""

from __future__ import annotations

import doctest
from pathlib import Path

from tests.report.hostile import HOSTILE
from tests.report.test_markdown import result
from truthguard.report import github
from truthguard.report.github import MAX_SUMMARY_BYTES, append_summary, benchmark_errors, error, in_repository


def test_examples_hold() -> None:
    """The docstrings' examples run and print what they say."""
    found = doctest.testmod(github)
    assert found.attempted > 0
    assert found.failed == 0


def test_each_failed_benchmark_has_one_error() -> None:
    """At the line of its first row that failed or could not be measured; what passed or is waived has none."""
    rows = [
        result(benchmark="flask"),
        result("fail", reason="0.3 < 0.4 (min)", line=12),
        result("waived", benchmark="injection"),
        result("error", metric="mc3", reason="no model", line=15),
        result("error", benchmark="faq", reason="SECRET", line=30),
    ]
    assert benchmark_errors("gates/t.toml", rows, {"starter"}) == [
        "::error file=gates/t.toml,line=12,title=truthguard%3A starter::"
        "starter[mc1] failed: 0.3 < 0.4 (min)%0Astarter[mc3] could not be measured: no model",
        "::error file=gates/t.toml,line=30,title=truthguard%3A faq::"
        "faq[mc1] could not be measured: the log has the reason",
    ]


def test_many_rows_are_cut() -> None:
    """Five rows and the number of the others."""
    (line,) = benchmark_errors("t.toml", [result("fail", category=f"c{n}") for n in range(38)], ())
    assert line.count("%0A") == 5
    assert line.endswith("and 33 more rows")


def test_no_text_leaves_its_annotation() -> None:
    """Whatever a name or a reason holds, the line is one command with the properties that were given."""
    for text in HOSTILE:
        for line in (
            error(text, 7, text, text),
            *benchmark_errors("t.toml", [result("fail", category=text, reason=text)], {"starter"}),
        ):
            head, _, message = line.removeprefix("::error ").partition("::")
            names = [part.partition("=")[0] for part in head.split(",")]
            assert names == ["file", "line", "title"]
            assert not set("\r\n") & set(line)
            assert "::" not in head
            assert message


def test_a_summary_grows(tmp_path: Path) -> None:
    """Pages stand one below the other, with an empty line between them."""
    path = tmp_path / "summary.md"
    assert append_summary(path, "one\n") is None
    assert append_summary(path, "two\n") is None
    assert path.read_bytes() == b"one\n\ntwo\n"


def test_a_summary_that_would_be_too_large_is_left_alone(tmp_path: Path) -> None:
    """GitHub would drop all of it, what others wrote included."""
    path = tmp_path / "summary.md"
    path.write_bytes(b"x" * (MAX_SUMMARY_BYTES - 4))
    assert "1,048,576 bytes" in (append_summary(path, "page\n") or "")
    assert path.stat().st_size == MAX_SUMMARY_BYTES - 4
    assert append_summary(path, "pg\n") is None


def test_a_summary_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """A reason, and no exception."""
    assert append_summary(tmp_path / "none" / "summary.md", "page\n") == "No such file or directory"


def test_files_are_named_from_the_root_of_the_checkout(tmp_path: Path) -> None:
    """What lies elsewhere, or has no checkout around it, keeps its whole path."""
    (tmp_path / "repo" / "gates").mkdir(parents=True)
    path = tmp_path / "repo" / "gates" / "t.toml"
    assert in_repository(path, str(tmp_path / "repo")) == "gates/t.toml"
    assert in_repository(path, str(tmp_path / "rep")) == path.as_posix()
    assert in_repository(path, None) == path.as_posix()
