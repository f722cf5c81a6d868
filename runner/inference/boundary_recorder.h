#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "protocol/counters.h"

namespace etprof::runner {

// Records counts between the boundaries of a run's operators. It is notified when ExecuTorch's spans begin
// and end, when XNNPACK reads its clock (before the first operator of a delegate call and after each), and of
// these operators' names, which ExecuTorch reports after all of them have run.
class BoundaryRecorder {
 public:
  using Key = protocol::OperatorPlace;
  // Called at the end of each operator of a measured run, with the totals at its start and at its end.
  using OperatorCallback = std::function<void(const Key& key, const std::string& name,
                                              const std::uint64_t* before, const std::uint64_t* after)>;

  // `read` writes the counters' current totals; it is called at every boundary. With `on_operator` the
  // recorder keeps no sums.
  BoundaryRecorder(std::size_t counters, std::function<void(std::uint64_t*)> read,
                   OperatorCallback on_operator = nullptr);

  void BeginRun(bool is_measured);  // false: a warm-up run
  void EndRun();

  void BeginSpan(std::string_view name, std::int64_t chain, std::int64_t instruction);
  void EndSpan();
  void RecordBoundary();  // called when XNNPACK reads its clock
  // Adds the name of the next operator of the current delegate call, after all of them have run.
  void RecordDelegateOperator(std::string_view name);

  // Fills runs, unmatched_calls, and operators. `scale` has a factor for each counter.
  void Fill(const std::vector<double>& scale, protocol::CountersReply& reply) const;
  std::int64_t unmatched_calls() const { return unmatched_; }

 private:
  using Values = std::vector<std::uint64_t>;
  struct Span {
    std::string kind, name;
    std::int64_t chain = 0, instruction = 0, occurrence = 0;
    Values start;
  };
  struct Sums {
    std::size_t order = 0;  // order of first appearance
    std::string name;
    std::int64_t runs = 0;
    Values counts;
  };

  Values ReadCounters() const;
  void Add(const Key& key, const std::string& name, const std::uint64_t* before, const std::uint64_t* after);
  void EndDelegateCall(const Span& call);

  std::size_t counters_;
  std::function<void(std::uint64_t*)> read_;
  OperatorCallback on_operator_;
  bool in_run_ = false, is_measured_ = false;
  std::vector<Span> open_spans_;
  // The number of calls in this run by chain, instruction, and kind: the occurrence of the next such call.
  std::map<std::tuple<std::int64_t, std::int64_t, std::string>, std::int64_t> calls_;
  // The ordinal of the next kernel, by the kernel's key with its ordinal set to 0.
  std::map<Key, std::int64_t> ordinals_;
  Values boundaries_;  // counts at the current delegate call's boundaries, one after the other
  std::vector<std::string> operators_;  // operators of the current delegate call
  std::map<Key, Sums> sums_;
  int runs_ = 0;
  std::int64_t unmatched_ = 0;
};

}  // namespace etprof::runner
