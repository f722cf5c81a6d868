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

// What was counted between the boundaries of the operators of a run. It is told of ExecuTorch's spans as they
// begin and end, of the moments in which XNNPACK takes its clock (before the first operator of a delegate
// call and after each), and then of these operators' names, which ExecuTorch tells after all of them have
// run.
class BoundaryRecorder {
 public:
  using Key = protocol::OperatorPlace;
  // Told of each operator of a counted run when it has ended: the totals at its begin and at its end.
  using Each = std::function<void(const Key& key, const std::string& name, const std::uint64_t* from,
                                  const std::uint64_t* to)>;

  // `read` gives the counters' totals so far; it is called at every boundary. With `each` nothing is summed
  // up here.
  BoundaryRecorder(std::size_t counters, std::function<void(std::uint64_t*)> read, Each each = nullptr);

  void BeginRun(bool counted);  // not counted: a warm-up
  void EndRun();

  void BeginSpan(std::string_view name, std::int64_t chain, std::int64_t instruction);
  void EndSpan();
  void Boundary();
  void DelegateOperator(std::string_view name);

  // Fills runs, unmatched_calls and operators. `scale` has a factor for each counter.
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
    std::size_t place = 0;  // in the order of appearance
    std::string name;
    std::int64_t runs = 0;
    Values counts;
  };

  Values Now() const;
  void Add(const Key& key, const std::string& name, const std::uint64_t* from, const std::uint64_t* to);
  void EndDelegateCall(const Span& call);

  std::size_t counters_;
  std::function<void(std::uint64_t*)> read_;
  Each each_;
  bool in_run_ = false, counted_ = false;
  std::vector<Span> open_;
  std::map<std::tuple<std::int64_t, std::int64_t, std::string>, std::int64_t> calls_;  // so far in this run
  std::map<Key, std::int64_t> ordinals_;  // the next one; of keys with ordinal 0
  Values boundaries_;                     // of the delegate call, one after the other
  std::vector<std::string> operators_;    // of the delegate call
  std::map<Key, Sums> sums_;
  int runs_ = 0;
  std::int64_t unmatched_ = 0;
};

}  // namespace etprof::runner
