"""The graded responses and pairs that ship with the package: well-formed, balanced, ours, and read as written."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import runpy
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

import truthguard.benchmarks
from truthguard.benchmarks import judge_starter
from truthguard.benchmarks.base import data_digest, select
from truthguard.records import GradedResponse, ResponsePair, Selection

FOLDER = Path(truthguard.benchmarks.__file__).parent / "data"
BALANCE = Path(__file__).parents[2] / "measure" / "judge_starter_balance.py"
RESPONSES, PAIRS = "judge_starter_responses.jsonl", "judge_starter_pairs.jsonl"
# Words that the instruction, its rubric and its reference agree on as the most.
LIMITS = {"library": 25, "car": 40, "lift": 20}


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text("utf-8").split("\n")[:-1]]


GRADED, PAIRED = rows(RESPONSES), rows(PAIRS)
every_graded = pytest.mark.parametrize("row", GRADED, ids=[row["id"] for row in GRADED])
every_pair = pytest.mark.parametrize("row", PAIRED, ids=[row["id"] for row in PAIRED])


def groups() -> dict[str, list[dict[str, Any]]]:
    """The graded responses by the middle part of their ids, which names the instruction."""
    found: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in GRADED:
        found[row["id"].removeprefix("jg-").rpartition("-")[0]].append(row)
    return found


def words(text: str) -> str:
    return " ".join(re.findall(r"[\w']+", text.lower()))


class TestGraded:
    def test_enough_of_each_grade(self) -> None:
        """At least 36 responses to 12 instructions, three or more to each, and each grade at least six times."""
        counts = Counter(row["score"] for row in GRADED)
        assert counts.keys() == {1, 2, 3, 4, 5}
        assert counts.total() >= 36
        assert min(counts.values()) >= 6
        assert len(groups()) >= 12
        assert min(map(len, groups().values())) >= 3

    @every_graded
    def test_form(self, row: dict[str, Any]) -> None:
        """Seven fields, a whole grade, and a rubric that says of each grade something of its own."""
        assert list(row) == ["id", "category", "instruction", "response", "score", "rubric", "reference"]
        assert re.fullmatch(r"jg-[a-z0-9-]+-[0-9]", row["id"])
        assert isinstance(row["score"], int)
        check_rubric(row["rubric"])

    @pytest.mark.parametrize("stem", groups())
    def test_responses_to_one_instruction_differ_in_quality(self, stem: str) -> None:
        """One instruction, rubric, reference and category; responses of which no two have one grade or one text."""
        group = groups()[stem]
        for field in ("category", "instruction", "rubric", "reference"):
            assert len({row[field] for row in group}) == 1
        for field in ("score", "response"):
            assert len({row[field] for row in group}) == len(group)
        assert group[0]["reference"] not in {row["response"] for row in group}

    @pytest.mark.parametrize("stem", LIMITS)
    def test_the_best_keep_the_limit(self, stem: str) -> None:
        """What earns a 5, the reference among it, has no more words than the instruction allows."""
        group = groups()[stem]
        assert f"at most {LIMITS[stem]} words" in group[0]["instruction"]
        best = [group[0]["reference"], *(row["response"] for row in group if row["score"] == 5)]
        assert all(len(text.split()) <= LIMITS[stem] for text in best)

    def test_json_as_asked(self) -> None:
        """What earns a 5 for a JSON array and nothing else is one."""
        group = groups()["stone-fruit"]
        for text in (group[0]["reference"], *(row["response"] for row in group if row["score"] == 5)):
            fruits = json.loads(text)
            assert len(fruits) == 3
            assert all(fruit.islower() for fruit in fruits)

    def test_the_code_of_the_reference_runs(self) -> None:
        """The faults that the reference names are there, and its repair mends them."""
        row = groups()["positive-mean"][0]
        faulty, repaired = (function(row[field]) for field in ("instruction", "reference"))
        assert faulty([4, -2]) == 2.0
        with pytest.raises(ZeroDivisionError):
            faulty([])
        assert [repaired(numbers) for numbers in ([4, -2], [1, 2], [], [-1])] == [4.0, 1.5, None, None]


class TestPairs:
    def test_enough_of_each_winner(self) -> None:
        """At least 34 pairs, eight of them ties, and as many won by the first response as by the second."""
        counts = Counter(row["winner"] for row in PAIRED)
        assert counts.total() >= 34
        assert counts["tie"] >= 8
        assert counts["a"] == counts["b"]

    @every_pair
    def test_form(self, row: dict[str, Any]) -> None:
        """Seven fields, two different responses, and a rubric that says of each grade something of its own."""
        assert list(row) == ["id", "category", "instruction", "a", "b", "winner", "rubric"]
        assert re.fullmatch(r"jp-[a-z0-9-]+", row["id"])
        assert row["a"] != row["b"]
        assert row["id"].startswith("jp-tie-") == (row["winner"] == "tie")
        check_rubric(row["rubric"])

    def test_various(self) -> None:
        """Ten kinds of instruction and more, each with a decided pair, most with a tie."""
        decided = {row["category"] for row in PAIRED if row["winner"] != "tie"}
        ties = {row["category"] for row in PAIRED if row["winner"] == "tie"}
        assert len(decided) >= 10
        assert ties < decided
        assert len(ties) >= 8

    def test_each_is_asked_once(self) -> None:
        """No instruction stands in two pairs, none in a pair and a graded response."""
        asked = [row["instruction"] for row in PAIRED]
        assert len(set(asked)) == len(asked)
        assert not set(asked) & {row["instruction"] for row in GRADED}


class TestBalance:
    def test_form_gives_nothing_away(self, capsys: pytest.CaptureFixture[str]) -> None:
        """measure/judge_starter_balance.py finds each shortcut within its band: length, place, digits."""
        main: Callable[[], int] = runpy.run_path(str(BALANCE))["main"]
        assert main() == 0
        printed = capsys.readouterr().out
        assert "OUT OF BAND" not in printed
        assert printed.count("  ok\n") == 13

    def test_what_is_out_of_band_is_told(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """If the longer response of each decided pair had won, the script would fail and say where."""
        for row in (longer := [dict(row) for row in PAIRED]):
            if row["winner"] != "tie":
                row["winner"] = max("ab", key=lambda side: len(row[side]))
        (tmp_path / PAIRS).write_text("".join(json.dumps(row) + "\n" for row in longer), "utf-8")
        (tmp_path / RESPONSES).write_bytes((FOLDER / RESPONSES).read_bytes())
        script = runpy.run_path(str(BALANCE))
        monkeypatch.setitem(script["load"].__globals__, "DATA", tmp_path)
        assert script["main"]() == 1
        assert re.search(r"always the longer \(characters\) +\+1.000 .*OUT OF BAND", capsys.readouterr().out)


class TestLoad:
    def test_reads_what_is_written(self) -> None:
        """Responses and pairs in turns, each in its file's order, with every field where it belongs."""
        found = judge_starter.load()
        written = [row for turn in zip_longest(GRADED, PAIRED) for row in turn if row is not None]
        assert (found.name, found.kind, found.version) == ("judge_starter", "judge_starter", None)
        assert found.path.name == RESPONSES
        assert [item.id for item in found.items] == [row["id"] for row in written]
        for item, row in zip(found.items, written, strict=True):
            assert isinstance(item, GradedResponse | ResponsePair)
            assert (item.category, item.instruction) == (row["category"], row["instruction"])
            assert "\n".join([item.rubric.criterion, *scored(item.rubric.anchors)]) == row["rubric"]
            if isinstance(item, GradedResponse):
                expected = (row["response"], (row["score"],), row["reference"])
                assert (item.response, item.scores, item.reference) == expected
            else:
                assert (item.responses, item.winner) == ((row["a"], row["b"]), row["winner"])

    def test_nothing_is_unusual(self) -> None:
        """No id, response or label is counted as odd, and no rubric is lacking."""
        assert judge_starter.load().counts == {"dropped_choices": 0}

    def test_responses_to_one_instruction_are_one_group(self) -> None:
        """A bootstrap draws the responses to one instruction together; each pair is a group of its own."""
        items = judge_starter.load().items
        graded = {item.group for item in items if isinstance(item, GradedResponse)}
        paired = {item.group for item in items if isinstance(item, ResponsePair)}
        assert (len(graded), len(paired)) == (len(groups()), len(PAIRED))
        assert not graded & paired

    def test_digests(self) -> None:
        """One digest is of the items in any order, the other of the bytes of both files."""
        found = judge_starter.load()
        assert found.data_sha256 == data_digest(reversed(found.items))
        read = b"".join((FOLDER / name).read_bytes() for name in (RESPONSES, PAIRS))
        assert found.file_sha256 == hashlib.sha256(read).hexdigest()

    def test_a_sample_has_responses_and_pairs(self) -> None:
        """Drawn by category, 20 items are of both kinds."""
        drawn = select(judge_starter.load().items, Selection(sample=20))
        assert len(drawn) == 20
        assert {type(item) for item in drawn} == {GradedResponse, ResponsePair}


class TestOurs:
    def test_nothing_hides_in_the_files(self) -> None:
        """The files are small, their ids unique, and hold no character that cannot be seen."""
        texts = [(FOLDER / name).read_text("utf-8") for name in (RESPONSES, PAIRS)]
        assert sum(len(text.encode()) for text in texts) < 100_000
        hidden = {char for char in "".join(texts) if unicodedata.category(char) in ("Cf", "Cc", "Zl", "Zp", "Co")}
        assert hidden == {"\n"}
        ids = [row["id"] for row in (*GRADED, *PAIRED)]
        assert len(set(ids)) == len(ids)

    def test_no_response_holds_a_result(self) -> None:
        """What measures how well a judge grades does not attack it: that is the self-test's part."""
        for row in (*GRADED, *PAIRED):
            assert not any(mark in json.dumps(row) for mark in ("[RESULT]", "Verdict:", "<think>", "###"))

    def test_no_instruction_of_a_public_set(self, real_data: Path) -> None:
        """No instruction is a question of TruthfulQA, Vicuna, MT Bench, HHH or Auto-J, or of our starter set."""
        theirs = {words(text) for text in published(real_data)}
        assert len(theirs) > 2_000
        theirs |= {words(row["question"]) for row in rows("starter.jsonl")}
        assert not {words(row["instruction"]) for row in (*GRADED, *PAIRED)} & theirs


def check_rubric(text: str) -> None:
    """A criterion that asks, and five anchors in order, each of four words and more, no two alike."""
    criterion, *anchors = text.split("\n")
    assert criterion.endswith("?")
    assert [anchor.partition(": ")[0] for anchor in anchors] == [f"Score {grade}" for grade in range(1, 6)]
    described = [anchor.partition(": ")[2] for anchor in anchors]
    assert len(set(described)) == 5
    assert all(len(each.split()) >= 4 for each in described)


def scored(anchors: tuple[str, ...]) -> list[str]:
    return [f"Score {grade}: {anchor}" for grade, anchor in enumerate(anchors, 1)]


def function(text: str) -> Callable[[list[int]], float | None]:
    """The function mean_positive as a text defines it, from its `def` to the text's end."""
    scope: dict[str, Any] = {}
    exec(text[text.index("def ") :], scope)
    found: Callable[[list[int]], float | None] = scope["mean_positive"]
    return found


def published(data: Path) -> Iterator[str]:
    """The questions and prompts of the public sets."""
    for version in ("2021-09", "2021-10", "2025-01"):
        path = data / "truthfulqa" / version / "mc_task.json"
        yield from (row["question"] for row in json.loads(path.read_text("utf-8")))
    for name in ("vicuna_bench", "mt_bench"):
        path = data / "related" / f"fastchat_{name}_question.jsonl"
        for line in path.read_text("utf-8").splitlines():
            yield from json.loads(line)["turns"]
    folder = data / "prometheus2"
    with gzip.open(folder / "autoj_pairwise.json.gz", "rt", encoding="utf-8") as lines:
        yield from (json.loads(line)["prompt"] for line in lines)
    with gzip.open(folder / "hhh_alignment_eval.json.gz", "rt", encoding="utf-8") as file:
        for row in json.load(file):
            whole = row["chosen_instruction"].partition("###The instruction to evaluate:\n")[2]
            yield whole.partition("\n\n###Response to evaluate:")[0]
