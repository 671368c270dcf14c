"""`truthguard init` writes a thresholds file that pytest collects, as it is and with every setting switched on."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from truthguard import __main__ as command
from truthguard.thresholds.starting import starting_text


def collected(pytester: pytest.Pytester, *arguments: str) -> list[str]:
    """The rows of thresholds.toml in the folder."""
    result = pytester.runpytest_inprocess("thresholds.toml", "--collect-only", "-q", *arguments)
    assert result.ret == pytest.ExitCode.OK
    return [line.rpartition("::")[2] for line in result.outlines if "::" in line]


def switched_on(text: str) -> str:
    """The file with every setting switched on: a comment has a space behind its #, a setting has none."""
    return re.sub(r"^#(?=[^ #\n])", "", text, flags=re.MULTILINE)


def test_the_file_is_collected_at_once(pytester: pytest.Pytester, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows of the starter set: no download, no file of one's own; it waits for a model's name."""
    assert command.main(["init"]) == 0
    assert "name your model in its [model] table, then run `pytest thresholds.toml`" in capsys.readouterr().out
    assert collected(pytester) == ["starter[mc1]", "starter[mc2_mass]", "starter[truthful]"]
    result = pytester.runpytest_inprocess("thresholds.toml")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*no model is named*"])


def test_every_setting_can_be_switched_on(pytester: pytest.Pytester, real_data: Path) -> None:
    """What stands there as a comment is valid, all of it together."""
    question = {"id": "refunds", "question": "Until when?", "correct_answers": ["May."], "incorrect_answers": ["June."]}
    (pytester.path / "faq.jsonl").write_text(json.dumps(question) + "\n", encoding="utf-8")
    (pytester.path / "thresholds.toml").write_text(switched_on(starting_text()), encoding="utf-8")
    rows = collected(pytester, "--truthguard-data", str(real_data))
    assert {"starter[mc2_mass-Animals]", "starter[correctness]", "truthfulqa[mc2_mass-Confusion-People]"} <= {*rows}
    assert {"truthfulqa[mc1]", "faq[mc1-refunds]", "judge_starter[accuracy]", "judge_starter[without_ties]"} <= {*rows}


def test_a_scripted_model_passes_it_offline(pytester: pytest.Pytester) -> None:
    """Named on the command line, a model that is always right meets every bar."""
    assert command.main(["init", str(pytester.path)]) == 0
    pytester.makepyfile(
        model="""
        import json
        from truthguard.backends.protocol import ContinuationScore, Generate, Scores, Text
        from truthguard.benchmarks.own import load_starter

        TRUE = {choice.text for item in load_starter().items for choice in item.choices if choice.true}
        BEST = {item.question: item.best for item in load_starter().items}

        def answer(request):
            if isinstance(request, Generate):
                question = request.context.rpartition("Q: ")[2].partition("\\nA:")[0]
                return Text(" " + BEST[question], "stop")
            texts = [text.strip() for text in request.continuations]
            values = [-1.0 - rank / 9 if text in TRUE else -9.0 for rank, text in enumerate(texts)]
            return Scores(tuple(ContinuationScore(value, 4) for value in values))
        """
    )
    pytester.syspathinsert()
    arguments = ("--truthguard-model", "scripted:model:answer", "--truthguard-cache", "off")
    result = pytester.runpytest_inprocess("thresholds.toml", *arguments)
    result.assert_outcomes(passed=3)


def test_it_shows_what_a_gate_may_have() -> None:
    """Model, judge, starter rows, own questions, truthfulqa, judge_starter, drops, categories, required trust."""
    tables = tomllib.loads(switched_on(starting_text()))
    assert {"model", "judge", "starter", "truthfulqa", "faq", "judge_starter"} == tables.keys()
    assert "requires" in tables["judge"]
    assert "max_drop" in tables["truthfulqa"]["mc1"]
    assert tables["truthfulqa"]["mc2_mass"]["by"] == "category"
    assert "--truthguard-baseline" in starting_text()
    assert "name" not in tomllib.loads(starting_text())["model"]


@pytest.mark.parametrize("there", ["a file", "a link to nowhere"])
def test_nothing_is_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str], there: str) -> None:
    """Exit 1 with the place; the file is as it was."""
    path = tmp_path / "gate.toml"
    if there == "a file":
        path.write_text("# mine\n")
    else:
        path.symlink_to("nowhere.toml")
    assert command.main(["init", str(path)]) == 1
    assert capsys.readouterr().err == f"truthguard: {path}: there already, and not written over: name another file\n"
    assert not (tmp_path / "nowhere.toml").exists()
    assert path.is_symlink() or path.read_text() == "# mine\n"


def test_a_place_that_is_none_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A missing folder, and a name that pytest would not collect."""
    assert command.main(["init", str(tmp_path / "none" / "gate.toml")]) == 1
    assert "cannot be written: No such file or directory" in capsys.readouterr().err
    assert command.main(["init", str(tmp_path / "gate.ini")]) == 1
    assert "name one that ends in .toml" in capsys.readouterr().err


def test_a_folder_gets_the_usual_name(tmp_path: Path) -> None:
    """With line ends of one kind."""
    assert command.main(["init", str(tmp_path)]) == 0
    data = (tmp_path / "thresholds.toml").read_bytes()
    assert data.decode() == starting_text()
    assert b"\r" not in data
