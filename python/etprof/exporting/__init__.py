"""The parts of `etprof export` (etprof/export.py): which model is meant, how it is lowered, and whether it computes right."""
