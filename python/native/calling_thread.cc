#include <nanobind/stl/optional.h>

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

constexpr std::chrono::milliseconds kSignalCheckInterval(50);  // how long to wait before checking for signals

struct Event {
  enum class Kind { kMessage, kStep, kState, kMeasuring, kWaiting };
  Kind kind = Kind::kMessage;
  std::optional<std::size_t> device;
  std::string text = {};
  int done = 0, total = 0;
  ProgressUpdate update = {};  // only for kMeasuring
};
constexpr NamedValue<Event::Kind> kEventKinds[] = {{Event::Kind::kMessage, "message"},
                                                   {Event::Kind::kStep, "step"},
                                                   {Event::Kind::kState, "state"},
                                                   {Event::Kind::kMeasuring, "measuring"},
                                                   {Event::Kind::kWaiting, "waiting"}};

using Number = std::optional<double>;  // an absent number becomes None in Python

nb::dict EstimateDict(const ProgressUpdate::Estimate& estimate) {
  const auto& ratio = estimate.estimate;
  nb::dict dict;
  dict["baseline"] = Text(estimate.baseline);
  dict["candidate"] = Text(estimate.candidate);
  dict["median_ns"] = estimate.median_ns;
  dict["ratio"] = ratio ? Number(ratio->ratio()) : Number();
  dict["ratio_low"] = ratio ? Number(ratio->low()) : Number();
  dict["ratio_high"] = ratio ? Number(ratio->high()) : Number();
  return dict;
}

nb::dict EventDict(const Event& event, const std::vector<std::string>& devices) {
  const bool is_known_device = event.device && *event.device < devices.size();
  nb::dict dict;
  dict["kind"] = FindName(kEventKinds, event.kind);
  dict["device"] = is_known_device ? Text(devices[*event.device]) : nb::none();
  dict["text"] = Text(event.text);
  dict["done"] = event.done;
  dict["total"] = event.total;
  if (event.kind != Event::Kind::kMeasuring) return dict;
  const ProgressUpdate& update = event.update;
  dict["round"] = update.round;
  dict["rounds"] = update.rounds;
  dict["seconds"] = update.seconds;
  dict["max_seconds"] = update.max_seconds > 0 ? Number(update.max_seconds) : Number();
  nb::list estimates;
  for (const ProgressUpdate::Estimate& estimate : update.estimates) estimates.append(EstimateDict(estimate));
  dict["estimates"] = estimates;
  return dict;
}

// Queues events until the calling thread takes them.
class EventQueue : public PythonProgress {
 public:
  void SetDevices(std::vector<std::string> names) override {
    const std::scoped_lock lock(mutex_);
    devices_ = std::move(names);
  }
  bool Interrupted() const override { return interrupted_; }
  void Message(const std::string& text) override {
    Push({.kind = Event::Kind::kMessage, .device = {}, .text = text});
  }
  void Message(std::size_t device, const std::string& text) override {
    Push({.kind = Event::Kind::kMessage, .device = device, .text = text});
  }
  void Step(const std::string& text, int done, int total) override {
    Push({.kind = Event::Kind::kStep, .device = {}, .text = text, .done = done, .total = total});
  }
  void State(std::size_t device, const std::string& text) override {
    Push({.kind = Event::Kind::kState, .device = device, .text = text});
  }
  Progress* GetDeviceProgress(std::size_t device) override {
    const std::scoped_lock lock(mutex_);
    return &device_progress_.try_emplace(device, *this, device).first->second;
  }

  void Interrupt() { interrupted_ = true; }
  void End() {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
    available_.notify_one();
  }
  // Takes the queued events and the devices' names; waits briefly for an event. Returns false when the work
  // has ended.
  bool Take(std::deque<Event>& events, std::vector<std::string>& devices) {
    std::unique_lock lock(mutex_);
    available_.wait_for(lock, kSignalCheckInterval, [this] { return ended_ || !events_.empty(); });
    events = std::exchange(events_, {});
    devices = devices_;
    return !ended_;
  }

 private:
  class DeviceProgress : public Progress {
   public:
    DeviceProgress(EventQueue& queue, std::size_t device) : queue_(queue), device_(device) {}
    void Update(const ProgressUpdate& update) override {
      queue_.Push({.kind = Event::Kind::kMeasuring,
                   .device = device_,
                   .text = update.activity,
                   .done = update.launch,
                   .total = update.launches,
                   .update = update});
    }
    void Message(const std::string& text) override { queue_.Message(device_, text); }
    void Waiting(const std::string& text) override {
      queue_.Push({.kind = Event::Kind::kWaiting, .device = device_, .text = text});
    }

   private:
    EventQueue& queue_;
    std::size_t device_;
  };

  // Appends an event. If Python is slow, it gets only the latest progress of each kind, but every message.
  void Push(Event event) {
    const std::scoped_lock lock(mutex_);
    const bool is_update =
        !events_.empty() && events_.back().kind == event.kind && events_.back().device == event.device;
    if (is_update && event.kind != Event::Kind::kMessage) events_.pop_back();
    events_.push_back(std::move(event));
    available_.notify_one();
  }

  std::atomic<bool> interrupted_ = false;
  std::mutex mutex_;  // guards the members below
  std::condition_variable available_;
  std::deque<Event> events_;
  std::vector<std::string> devices_;
  std::map<std::size_t, DeviceProgress> device_progress_;
  bool ended_ = false;
};

// Calls Python and returns the exception that it raises.
template <typename Call>
std::optional<nb::python_error> CallPython(Call call) {
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

std::string RunOnWorkerThread(const nb::object& on_event,
                              const std::function<std::string(PythonProgress&)>& work) {
  EventQueue queue;
  std::string result;
  std::exception_ptr work_error;
  std::optional<nb::python_error> raised_error;
  ThreadGroup threads;
  const bool started = threads.Start([&] {
    try {
      result = work(queue);
    } catch (...) {
      work_error = std::current_exception();
    }
    queue.End();
  });
  if (!started) throw Error(ExitCode::kDeviceFailed, "the system starts no more threads");
  const auto call_python = [&](auto function) {
    std::optional<nb::python_error> error = CallPython(function);
    if (!error) return;
    queue.Interrupt();
    if (!raised_error) raised_error.emplace(std::move(*error));
  };
  for (bool running = true; running;) {
    std::deque<Event> events;
    std::vector<std::string> devices;
    {
      const nb::gil_scoped_release gil_released;
      running = queue.Take(events, devices);
    }
    call_python(RunSignalHandlers);
    for (const Event& event : events) {
      if (on_event.is_none() || raised_error) break;
      call_python([&] { on_event(EventDict(event, devices)); });
    }
  }
  {
    const nb::gil_scoped_release gil_released;
    threads.Join();
  }
  if (raised_error) throw nb::python_error(std::move(*raised_error));
  if (work_error) std::rethrow_exception(work_error);
  return result;
}

}  // namespace etprof
