#pragma once

#include "inference/boundary_recorder.h"
#include "inference/model.h"
#include "timing/operator_clock.h"

namespace etprof::runner {

// While an object lives, the model's runs are traced and reported to `recorder`. The destructor restores the
// previous state, also if a run fails. Only one object may exist at a time.
class Recording {
 public:
  Recording(Model& model, BoundaryRecorder& recorder) : model_(model) {
    current_recorder_ = &recorder;
    model_.tracer().SetRecorder(&recorder);
    model_.SetTracing(true);
    SetBoundaryHook([] { current_recorder_->RecordBoundary(); });
  }
  ~Recording() {
    SetBoundaryHook(nullptr);
    model_.SetTracing(false);
    model_.tracer().SetRecorder(nullptr);
    model_.tracer().Clear();
    current_recorder_ = nullptr;
  }
  Recording(Recording&&) = delete;

 private:
  static inline BoundaryRecorder* current_recorder_ = nullptr;  // static: the clock's hook has no argument
  Model& model_;
};

}  // namespace etprof::runner
