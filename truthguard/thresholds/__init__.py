"""The gate: a thresholds file is read, expanded into rows, and each row is held against what was measured.

document.py   the file -> data and lines             lines.py      where each key and table stands
reading.py    data -> Gate, or all mistakes at once   rowtable.py   the table of one row
schema.py     which keys and values a table may have  checking.py   mistakes, gathered with their lines
wording.py    how keys and values are shown           spec.py       what a Gate is made of
rows.py       Gate + questions -> rows, one for each pytest item
gate.py       row + run -> verdict                    bars.py       a score and its bar
failure.py    what is said of a failed row            comparing.py  tolerance and printed digits
"""
