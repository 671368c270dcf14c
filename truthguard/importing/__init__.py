"""Runs that other tools have made, as records that can be gated, compared and reported."""

from __future__ import annotations
