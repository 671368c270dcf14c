"""The only reader and writer of what is kept on disk: answers, the runs of a session, the record."""
