#pragma once

#include "inference/boundary_recorder.h"
#include "inference/model.h"

namespace etprof::runner {

// While an object lives, the model's runs are traced and reported to `recorder`. The destructor restores the
// previous state, also if a run fails. Only one object may exist at a time.
class Recording {
 public:
  Recording(Model& model, BoundaryRecorder& recorder);
  ~Recording();
  Recording(Recording&&) = delete;

 private:
  Model& model_;
};

}  // namespace etprof::runner
