"""The HTML report: one self-contained page from finished records, for the person who decides about a release."""

from __future__ import annotations

from truthguard.report.html.page import NamedRecord, html_report, missing_extra
from truthguard.report.html.reading import read_named, record_of

__all__ = ["NamedRecord", "html_report", "missing_extra", "read_named", "record_of"]
