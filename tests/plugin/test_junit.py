"""JUnit XML: what CI servers read."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest
from lxml import etree

from tests.plugin.projects import QUESTIONS, gate, run

HOSTILE = "bad\x1b[31mred\x0b \ufffe & <b> ]]>"


def properties(case: ET.Element) -> dict[str, str]:
    return {each.attrib["name"]: each.attrib["value"] for each in case.iter("property")}


def test_rows_carry_score_bar_and_interval(project: pytest.Pytester) -> None:
    """The numbers stand as properties, with the names in full."""
    gate(project, '[faq.mc1]\nmin = 0.5\nby = "category"\n[faq.mc2]\nmin = 0.9\n')
    run(project, "--junit-xml", "out.xml")
    root = ET.parse(project.path / "out.xml").getroot()
    cases = {case.attrib["name"]: properties(case) for case in root.iter("testcase")}
    mc1 = cases["faq[mc1]"]
    assert mc1["truthguard_score"] == "0.75"
    assert mc1["truthguard_bar_min"] == "0.5"
    assert mc1["truthguard_n"] == "4"
    assert float(mc1["truthguard_low"]) < 0.75 < float(mc1["truthguard_high"])
    assert cases["faq[mc1-Alpha-one]"]["truthguard_slice"] == "Alpha: one"
    assert cases["faq[mc2]"]["truthguard_metric_name"] == "mc2 (yes/no contrast)"
    suite = next(root.iter("testsuite"))
    assert (suite.attrib["tests"], suite.attrib["failures"], suite.attrib["errors"]) == ("4", "1", "0")


def test_control_characters_leave_the_file_readable(project: pytest.Pytester) -> None:
    """C25: names and questions with control characters give a file that both parsers read, counts intact."""
    questions = [{**QUESTIONS[0], "id": "q0", "category": HOSTILE, "question": "Which of 3 " + HOSTILE}]
    lines = [json.dumps(question) for question in questions]
    (project.path / "faq.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    gate(project, '[faq.mc1]\nmin = 0.5\nby = "category"\n')
    result = run(project, "--junit-xml", "out.xml", "-o", "junit_logging=all")
    result.assert_outcomes(failed=2)
    root = ET.parse(project.path / "out.xml").getroot()
    assert etree.parse(str(project.path / "out.xml")).getroot().tag == root.tag
    suite = next(root.iter("testsuite"))
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("2", "2")
    named = [properties(case).get("truthguard_slice", "") for case in root.iter("testcase")]
    assert any("& <b> ]]>" in name for name in named)
    assert "\x1b" not in (project.path / "out.xml").read_text(encoding="utf-8")


def test_a_model_answering_from_a_lone_surrogate_does_not_raise(project: pytest.Pytester) -> None:
    """C25: an error text with a lone surrogate or a null reaches the file as something visible."""
    model = project.path / "model.py"
    poisoned = "    raise RuntimeError('bad \\\\x00 \\\\x1b[31m \\\\ud800 & <b>')\n    lies ="
    model.write_text(model.read_text().replace("    lies =", poisoned.replace("\\\\", "\\")))
    result = run(project, "--junit-xml", "out.xml")
    result.assert_outcomes(errors=1)
    root = ET.parse(project.path / "out.xml").getroot()
    text = "".join(root.itertext()) + " ".join(each.attrib.get("message", "") for each in root.iter())
    assert "& <b>" in text
