"""How often what is left to chance is tried: the real kills and races of the whole suite."""

KILLS_IN_COMMIT = 24
KILLS_IN_MODEL = 20
KILLS_IN_TOOL = 24
RACES = 24
APPENDS = 300  # of each of two processes
RUNS_AT_ONCE = 50
