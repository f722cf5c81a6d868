"""Settings for all tests."""

import os
import tempfile

# Measurements on one machine wait for each other. The tests of a session wait only for each other, not for measurements of
# the user or of another session.
QUEUE = tempfile.TemporaryDirectory(prefix="etprof-tests-")
os.environ["ETPROF_DEVICE_DIR"] = QUEUE.name
