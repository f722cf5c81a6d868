"""The parts of `etprof export` (etprof/export.py): finding the model, lowering it, and checking the outputs."""
