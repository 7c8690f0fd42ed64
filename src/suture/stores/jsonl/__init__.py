"""Sessions in JSONL files that a person can read: a directory, in which every session has a log of its own."""
