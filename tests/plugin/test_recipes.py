"""The recipes of README.md, read from it and followed, with small stand-ins for models, servers and devices."""

from __future__ import annotations

import json
import re
import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import readme
from tests.backends.scripted_server import Answer, Asked, chat_reply, serving
from tests.plugin.projects import MODEL, gate, requests, run
from tests.plugin.test_baseline_rows import questions
from truthguard import __main__ as command

# Each test is short, all of them are not: the quick loop leaves them out.
pytestmark = pytest.mark.slow

NIGHTLY = "Nightly, an API model with a budget"
OWN = "Your own questions, each a must-pass"

# Right about everything that ships with the package, and of other questions always for the first answer.
RIGHT = """
import math

from truthguard.backends.protocol import ContinuationScore, Masses, Score, Scores
from truthguard.benchmarks.own import load_starter

TRUE = {choice.text for item in load_starter().items for choice in item.choices if choice.true}


def answer(request):
    if isinstance(request, Score):
        return Scores(tuple(ContinuationScore(-1.0 - rank, 4) for rank, _ in enumerate(request.continuations)))
    yes = 0.8 if any(f"answer: {text}\\n" in request.context for text in TRUE) else 0.2
    return Masses((math.log(yes), math.log(1 - yes)))
"""


def follow(project: pytest.Pytester, line: str, *more: str, in_process: bool = True, **given: Any) -> pytest.RunResult:
    """A line that calls pytest, with further arguments."""
    name, *arguments = shlex.split(line)
    assert name == "pytest"
    return run(project, *arguments, *more, in_process=in_process, **given)


def lines_of(name: str, language: str = "bash") -> list[str]:
    return [line for block in readme.recipe(name, language) for line in readme.commands(block)]


def toml_of(recipe: str, path: Path, **replaced: str) -> None:
    """The thresholds file of a recipe, with stand-ins for what only its reader has."""
    (block,) = readme.recipe(recipe, "toml")
    text = block.text
    for old, new in replaced.items():
        text, n = re.subn(rf"(?m)^{old} = \S+", f"{old} = {new}", text)
        assert n == 1, f"the recipe has no {old}"
    path.write_text(text, encoding="utf-8")


def steps() -> list[dict[str, Any]]:
    (block,) = readme.recipe("CI", "yaml")
    (job,) = yaml.safe_load(block.text)["jobs"].values()
    found: list[dict[str, Any]] = job["steps"]
    return found


def test_ci_keeps_the_answers(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """The workflow is YAML; run again with the folder that it keeps, its gate loads no model and asks nothing."""
    (kept, again) = (step["with"]["path"].split() for step in steps() if "cache" in step.get("uses", ""))
    assert kept == again
    assert "~/.cache/truthguard" in kept
    monkeypatch.setenv("HOME", str(project.path / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    model = project.path / "model.py"
    model.write_text(MODEL + '\nwith TRACE.open("a") as file:\n    file.write("loaded model\\n")\n', encoding="utf-8")
    (line,) = (step["run"] for step in steps() if step.get("run", "").startswith("pytest"))
    home = Path(kept[0]).expanduser()
    # The default folder: no --truthguard-cache, which `run` would set.
    arguments = (*shlex.split(line)[1:], "--truthguard-model", "scripted:model:answer")
    project.syspathinsert()
    for asked in (5, 0):
        project.runpytest_inprocess(*arguments).assert_outcomes(passed=1)
        assert len(requests(project)) == asked
        assert (home / "answers.sqlite3").is_file()
        (project.path / "requests.log").unlink(missing_ok=True)
        for name in ("gate.xml", "gate.json", "gate.html"):
            (project.path / name).unlink()


def test_ci_keeps_what_a_failed_gate_leaves() -> None:
    """A step after a failed one runs only when it says so: answers and reports are wanted then most."""
    gate_at = next(place for place, step in enumerate(steps()) if step.get("run", "").startswith("pytest"))
    after = steps()[gate_at + 1 :]
    assert {step["uses"].partition("@")[0] for step in after} == {"actions/cache/save", "actions/upload-artifact"}
    assert [step["if"] for step in after] == ["always()", "always()"]


def test_ci_installs_what_its_gate_needs() -> None:
    """The extras of its `pip install`: a local model and the page."""
    (line,) = (step["run"] for step in steps() if "pip install" in step.get("run", ""))
    assert 'pip install "truthguard[local,report]"' in line


def test_a_release_is_held_against_the_last_one(project: pytest.Pytester) -> None:
    """A candidate that got worse is exit 1, an unchanged one exit 0; the drop is a shown one."""
    (project.path / "faq.jsonl").write_text("".join(json.dumps(each) + "\n" for each in questions(40)), "utf-8")
    (project.path / "candidate.py").write_text(MODEL.replace('"Which of 3" in text', '"Which of 0" in text'), "utf-8")
    gate(project, "[faq.mc1]\nmin = 0\nmax_drop = 0.02\n")
    saving, holding = lines_of("Before a release")
    follow(project, saving)
    for name, outcome in (("model", {"passed": 1}), ("candidate", {"failed": 1})):
        line = holding.replace("./checkpoints/candidate", f"scripted:{name}:answer").replace("cuda", "cpu")
        result = follow(project, line, model=None)
        result.assert_outcomes(**outcome)
        assert result.ret == (pytest.ExitCode.OK if name == "model" else pytest.ExitCode.TESTS_FAILED)
    result.stdout.fnmatch_lines(["*drop * > 0.0200 (max_drop) against release-1.2.json, shown by a one-sided test*"])


def test_a_night_stays_within_its_budget(project: pytest.Pytester) -> None:
    """The estimate sends nothing; a night that needs more stops at the budget, says so, and the next run goes on."""
    estimate, saving, holding = lines_of(NIGHTLY)

    def script(asked: Asked) -> Answer:
        return chat_reply("No. That is a common belief, and it is not so.")

    with serving(script) as server:
        name = f'"{server.url}#m"'
        toml_of(NIGHTLY, project.path / "nightly.toml", name=name)
        result = follow(project, estimate, model=None)
        assert result.ret == pytest.ExitCode.OK
        result.stdout.fnmatch_lines(["dry run: *#m: 105 requests, about * prompt and * completion tokens"])
        assert server.posts == []
        follow(project, saving, model=None).assert_outcomes(errors=1)
        assert (project.path / "last-good.json").is_file()

        toml_of(NIGHTLY, project.path / "nightly.toml", name=name, max_requests="60")
        before = len(server.posts)
        night = ("--truthguard-cache", "night")
        result = follow(project, holding, *night, model=None)
        result.assert_outcomes(errors=1)
        result.stdout.fnmatch_lines(["*max_requests = 60 requests*"])
        assert len(server.posts) - before == 60
        follow(project, holding, *night, model=None).assert_outcomes(passed=1)
        assert len(server.posts) - before == 105
    assert (project.path / "nightly.md").read_text(encoding="utf-8").startswith("## truthguard: passed")


@pytest.mark.parametrize("wrong", [False, True])
def test_each_of_ones_own_questions_must_pass(project: pytest.Pytester, wrong: bool) -> None:
    """The file that the README shows: a row for its question, which fails where the model prefers a wrong answer."""
    (shown,) = readme.blocks("json")
    (project.path / "faq.jsonl").write_text(shown.text, encoding="utf-8")
    toml_of(OWN, project.path / "thresholds.toml")
    said = "14 days" if wrong else "30 days"
    text = MODEL.replace('if "right" in text or "so" in text', f'if "{said}" in text')
    (project.path / "model.py").write_text(text, encoding="utf-8")
    result = run(project, "-v")
    result.stdout.fnmatch_lines([f"thresholds.toml::faq[[]mc1-refunds-1] {'FAILED' if wrong else 'PASSED'}*"])


@pytest.mark.slow
def test_beside_pytest_html_and_xdist(project: pytest.Pytester, request: pytest.FixtureRequest) -> None:
    """Both plugins at once: each row is a test of the page, and one worker asks."""
    if find_spec("pytest_html") is None:
        root = request.config.pluginmanager.get_plugin(str(request.config.rootpath / "conftest.py"))
        assert root is not None
        root.absent("pytest-html is not installed", "pip install pytest-html")
    (line,) = lines_of("Beside pytest-html and pytest-xdist")
    assert "-n 4" in line
    gate(project, "[faq.mc1]\nmin = 0.5\n[faq.mc2]\nmin = 0.9\n")
    result = follow(project, line.replace("-n 4", "-n 2"), in_process=False)
    result.assert_outcomes(passed=1, failed=1)
    assert len({each.split()[0] for each in requests(project)}) == 1
    page = (project.path / "tests.html").read_text(encoding="utf-8")
    assert "thresholds.toml::faq[mc1]" in page
    assert "does not meet its bar" in page


def test_a_quick_look_asks_a_part(project: pytest.Pytester) -> None:
    """The first questions, or some of each category."""
    for line, option in zip(lines_of("A quick look"), ("limit", "sample"), strict=True):
        assert f"--truthguard-{option}" in line
        result = follow(project, re.sub(r"\d+", "2", line))
        result.assert_outcomes(passed=1)
        result.stdout.fnmatch_lines(["faq *mc1*[[]*[]] * 2 *"])


def test_a_file_to_begin_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`truthguard init`."""
    _, _, recipes = readme.text().partition("## Recipes\n")
    assert "`truthguard init`" in recipes
    monkeypatch.chdir(tmp_path)
    assert command.main(["init"]) == 0
    assert (tmp_path / "thresholds.toml").is_file()


def test_scores_in_ones_own_tests(project: pytest.Pytester, real_data: Path) -> None:
    """The test as the README has it passes for a model that is right."""
    (block,) = readme.recipe("In your own tests", "python")
    project.makepyfile(test_mine=block.text, model=RIGHT)
    result = run(project, "test_mine.py", "--truthguard-data", str(real_data), "-p", "no:cacheprovider")
    assert result.parseoutcomes()["passed"] >= 1


def test_a_bare_pytest_takes_the_file(project: pytest.Pytester) -> None:
    """testpaths has it beside the suite."""
    (block,) = readme.recipe("As part of your suite", "toml")
    (project.path / "pyproject.toml").write_text(block.text, encoding="utf-8")
    (project.path / "tests").mkdir()
    (project.path / "tests" / "test_suite.py").write_text("def test_suite(): pass\n", encoding="utf-8")
    project.syspathinsert()
    result = project.runpytest_inprocess("--truthguard-model", "scripted:model:answer", "--truthguard-cache", "off")
    result.assert_outcomes(passed=2)
