#include "calling_thread.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "core/error.h"
#include "core/parallel.h"
#include "measure/schedule/progress.h"
#include "native.h"

namespace etprof {
namespace {

namespace nb = nanobind;

constexpr std::chrono::milliseconds kLook(50);  // for a signal

struct Said {
  enum class Kind { kMessage, kStep, kState, kMeasuring, kWaiting };
  Kind kind = Kind::kMessage;
  std::optional<std::size_t> device;
  std::string text = {};
  int done = 0, total = 0;
  ProgressUpdate update = {};  // of kMeasuring
};
constexpr NamedValue<Said::Kind> kKinds[] = {{Said::Kind::kMessage, "message"},
                                             {Said::Kind::kStep, "step"},
                                             {Said::Kind::kState, "state"},
                                             {Said::Kind::kMeasuring, "measuring"},
                                             {Said::Kind::kWaiting, "waiting"}};

nb::object NumberOr(bool known, double number) { return known ? nb::object(nb::float_(number)) : nb::none(); }

nb::dict EstimateDict(const ProgressUpdate::Estimate& estimate) {
  const auto& ratio = estimate.estimate;
  nb::dict one;
  one["baseline"] = Text(estimate.baseline);
  one["candidate"] = Text(estimate.candidate);
  one["median_ns"] = NumberOr(estimate.median_ns.has_value(), estimate.median_ns.value_or(0));
  one["ratio"] = NumberOr(ratio.has_value(), ratio ? ratio->ratio() : 0);
  one["ratio_low"] = NumberOr(ratio.has_value(), ratio ? ratio->low() : 0);
  one["ratio_high"] = NumberOr(ratio.has_value(), ratio ? ratio->high() : 0);
  return one;
}

nb::dict Dict(const Said& said, const std::vector<std::string>& devices) {
  const bool named = said.device && *said.device < devices.size();
  nb::dict one;
  one["kind"] = NameIn(kKinds, said.kind);
  one["device"] = named ? Text(devices[*said.device]) : nb::none();
  one["text"] = Text(said.text);
  one["done"] = said.done;
  one["total"] = said.total;
  if (said.kind != Said::Kind::kMeasuring) return one;
  const ProgressUpdate& update = said.update;
  one["round"] = update.round;
  one["rounds"] = update.rounds;
  one["seconds"] = update.seconds;
  one["max_seconds"] = NumberOr(update.max_seconds > 0, update.max_seconds);
  nb::list estimates;
  for (const ProgressUpdate::Estimate& estimate : update.estimates) estimates.append(EstimateDict(estimate));
  one["estimates"] = estimates;
  return one;
}

// Holds what is said until the calling thread takes it.
class Desk : public PythonProgress {
 public:
  void SetDevices(std::vector<std::string> names) override {
    const std::scoped_lock lock(mutex_);
    devices_ = std::move(names);
  }
  bool Interrupted() const override { return interrupted_; }
  void Message(const std::string& text) override { Put({.kind = Said::Kind::kMessage, .device = {}, .text = text}); }
  void Message(std::size_t device, const std::string& text) override {
    Put({.kind = Said::Kind::kMessage, .device = device, .text = text});
  }
  void Step(const std::string& text, int done, int total) override {
    Put({.kind = Said::Kind::kStep, .device = {}, .text = text, .done = done, .total = total});
  }
  void State(std::size_t device, const std::string& text) override {
    Put({.kind = Said::Kind::kState, .device = device, .text = text});
  }
  Progress* Of(std::size_t device) override {
    const std::scoped_lock lock(mutex_);
    return &ones_.try_emplace(device, *this, device).first->second;
  }

  void Interrupt() { interrupted_ = true; }
  void End() {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
    there_is_.notify_one();
  }
  // What was said since the last time, and the devices' names; waits a little for it. False once all is over.
  bool Take(std::deque<Said>& said, std::vector<std::string>& devices) {
    std::unique_lock lock(mutex_);
    there_is_.wait_for(lock, kLook, [this] { return ended_ || !said_.empty(); });
    said = std::exchange(said_, {});
    devices = devices_;
    return !ended_;
  }

 private:
  class One : public Progress {
   public:
    One(Desk& desk, std::size_t device) : desk_(desk), device_(device) {}
    void Update(const ProgressUpdate& update) override {
      desk_.Put({.kind = Said::Kind::kMeasuring,
                 .device = device_,
                 .text = update.what,
                 .done = update.launch,
                 .total = update.launches,
                 .update = update});
    }
    void Message(const std::string& text) override { desk_.Message(device_, text); }
    void Waiting(const std::string& text) override {
      desk_.Put({.kind = Said::Kind::kWaiting, .device = device_, .text = text});
    }

   private:
    Desk& desk_;
    std::size_t device_;
  };

  // Where Python is slow, it gets the last of what goes on, and every message.
  void Put(Said said) {
    const std::scoped_lock lock(mutex_);
    const bool same = !said_.empty() && said_.back().kind == said.kind && said_.back().device == said.device;
    if (same && said.kind != Said::Kind::kMessage) said_.pop_back();
    said_.push_back(std::move(said));
    there_is_.notify_one();
  }

  std::atomic<bool> interrupted_ = false;
  std::mutex mutex_;  // of all that follows
  std::condition_variable there_is_;
  std::deque<Said> said_;
  std::vector<std::string> devices_;
  std::map<std::size_t, One> ones_;
  bool ended_ = false;
};

// Calls Python, and returns what that raises.
template <typename Call>
std::optional<nb::python_error> Raised(Call call) {
  try {
    call();
  } catch (nb::python_error& error) {
    return std::move(error);
  }
  return std::nullopt;
}

void RunSignalHandlers() {
  if (PyErr_CheckSignals() != 0) nb::raise_python_error();
}

}  // namespace

std::string Attended(const nb::object& said, const std::function<std::string(PythonProgress&)>& work) {
  Desk desk;
  std::string result;
  std::exception_ptr failed;
  std::optional<nb::python_error> raised;
  Threads threads;
  const bool started = threads.Start([&] {
    try {
      result = work(desk);
    } catch (...) {
      failed = std::current_exception();
    }
    desk.End();
  });
  if (!started) throw Error(ExitCode::kDeviceFailed, "the system starts no more threads");
  const auto call = [&](auto python) {
    std::optional<nb::python_error> error = Raised(python);
    if (!error) return;
    desk.Interrupt();
    if (!raised) raised.emplace(std::move(*error));
  };
  for (bool goes_on = true; goes_on;) {
    std::deque<Said> news;
    std::vector<std::string> devices;
    {
      const nb::gil_scoped_release others_go_on;
      goes_on = desk.Take(news, devices);
    }
    call(RunSignalHandlers);
    for (const Said& one : news) {
      if (said.is_none() || raised) break;
      call([&] { said(Dict(one, devices)); });
    }
  }
  {
    const nb::gil_scoped_release others_go_on;
    threads.Join();
  }
  if (raised) throw nb::python_error(std::move(*raised));
  if (failed) std::rethrow_exception(failed);
  return result;
}

}  // namespace etprof
