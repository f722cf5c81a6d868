"""What holds for every test."""

import os
import tempfile

# Measurements on one machine take turns: those of this session among themselves, and not with the user's own or those of
# another session.
QUEUE = tempfile.TemporaryDirectory(prefix="etprof-tests-")
os.environ["ETPROF_DEVICE_DIR"] = QUEUE.name
