#pragma once

#include <string>

namespace etprof {

// The lock of a device. It is Lamport's bakery algorithm ("A New Solution of Dijkstra's Concurrent
// Programming Problem", CACM 17, 1974) on files in the folders of the runs on the device. Each file has one
// writer, so the algorithm needs no other primitive and works across all hosts that share the device:
//   runs/<id>/choosing   exists while the run chooses its ticket
//   runs/<id>/turn       the run's ticket (one more than the largest that it saw), and its description
// The run with the smallest ticket holds the lock; of equal tickets, the run whose name sorts first. A run
// that is `over` (remote.cc) does not count: a waiting run kills the processes that such a run left before it
// takes over.

// A new name for a run's folder, unique among all hosts that use a device. kDefineIsOwnFolder (remote.cc)
// checks the same format.
std::string NewRunId();

// A script that puts the run into the queue; a run that has a ticket keeps it. `who` describes the run for
// messages. All scripts here run in etprof's folder.
std::string JoinLockQueueScript(const std::string& run_id, const std::string& who);

// A script that waits until the run has the lock, for at most `seconds`, or until the run that holds the lock
// is not `known` (DeviceLockState::holder) any more. Prints a line for ParseLockState. Calls `over`.
// `end_run` is shell code that ends the run in whose folder it is executed.
std::string WaitForLockScript(const std::string& run_id, const std::string& known, int seconds,
                              const std::string& end_run);

struct DeviceLockState {
  bool acquired = false;  // this run holds the lock
  bool lost = false;      // this run is not in the queue any more
  std::string holder;     // description of the run that holds the lock
  int runs_ahead = 0;     // number of runs ahead of this one in the queue
};
DeviceLockState ParseLockState(const std::string& printed);

// A script that releases the lock, or leaves the queue.
std::string ReleaseLockScript(const std::string& run_id);

}  // namespace etprof
