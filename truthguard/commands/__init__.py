"""The commands over finished records: they ask no model, need no data files and answer in lines."""
