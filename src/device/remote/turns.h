#pragma once

#include <string>

namespace etprof {

// Who uses a device alone, and who waits for it: Lamport's bakery ("A New Solution of Dijkstra's Concurrent
// Programming Problem", CACM 17, 1974) in the folders of the runs there, so that it needs nothing but files
// that one writes and others read, and all that share a device see it, from whichever host they come:
//   runs/<id>/choosing   it is about to choose its number
//   runs/<id>/turn       its number, one more than all that it saw, and who it is
// It is the turn of the run with the smallest number (of equal ones, the first name). One that is `over`
// (remote.cc) has none: what it left running is ended before another takes its place.

// The name of a run's folder: unique among all who use a device. kDefineOurs (remote.cc) knows its form.
std::string NewRunId();

// A script, for a shell in etprof's folder, that queues the run; where it has a number already, it keeps
// that. `who` is for people.
std::string QueueScript(const std::string& run_id, const std::string& who);

// A script, likewise, that waits for the run's turn: `seconds` at most, or until another than `known` (as
// ReadTurn says) is before it. Prints a line for ReadTurn. Needs `over`; `end_run` is shell code that ends
// the run in whose folder it is.
std::string WaitForTurnScript(const std::string& run_id, const std::string& known, int seconds,
                              const std::string& end_run);

struct Turn {
  bool ours = false;
  bool lost = false;   // it is not in the queue any more
  std::string before;  // who has its turn now
  int waiting = 0;     // how many come before us
};
Turn ReadTurn(const std::string& printed);

// A script, likewise, that gives the turn to the next one, or leaves the queue.
std::string EndTurnScript(const std::string& run_id);

}  // namespace etprof
