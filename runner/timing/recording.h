#pragma once

#include "inference/boundary_recorder.h"
#include "inference/model.h"

namespace etprof::runner {

// While it is alive, the model's runs are traced and `recorder` is told of them; then everything is put back,
// also when a run fails. One at a time.
class Recording {
 public:
  Recording(Model& model, BoundaryRecorder& recorder);
  ~Recording();
  Recording(Recording&&) = delete;

 private:
  Model& model_;
};

}  // namespace etprof::runner
