"""End-to-end tests of measurements: the real etprof with the real runner or with scripted ones."""

from measure_conftest import bench, etprof, runner  # noqa: F401
