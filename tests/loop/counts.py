"""How often what is left to chance is tried: the real kills and races of the whole suite."""

KILLS_IN_COMMIT = 16
KILLS_IN_MODEL = 16
KILLS_IN_TOOL = 16
RACES = 24
DECISIONS = 100  # raced for, and as many settlements, on each store
APPENDS = 300  # of each of two processes
RUNS_AT_ONCE = 50
KILLS_IN_STREAM = 8

# Scenarios whose crash matrix runs with the async driver on SQLite too.
ASYNC_ON_SQLITE = ("words", "external", "three, one gated", "interrupted", "overtaken", "reconciled", "hooked", "retried")

# Scenarios that are ended at every moment once more, over an adapter: some 20 seconds of one core in all.
ON_ADAPTERS = (
    ("words", "openai", "sync"),
    ("words", "anthropic", "async"),
    ("external", "openai", "async"),
    ("external", "anthropic", "sync"),
    ("three, one gated", "openai", "sync"),
    ("three, one gated", "anthropic", "async"),
    ("interrupted", "openai", "async"),
    ("reconciled", "anthropic", "sync"),
    ("steered", "openai", "sync"),
    ("retried", "anthropic", "sync"),
)
