#include "timing/recording.h"

#include "timing/operator_clock.h"

namespace etprof::runner {
namespace {

BoundaryRecorder* current_recorder = nullptr;  // the clock's hook takes no argument

}  // namespace

Recording::Recording(Model& model, BoundaryRecorder& recorder) : model_(model) {
  current_recorder = &recorder;
  model_.tracer().SetRecorder(&recorder);
  model_.SetTracing(true);
  SetBoundaryHook([] { current_recorder->Boundary(); });
}

Recording::~Recording() {
  SetBoundaryHook(nullptr);
  model_.SetTracing(false);
  model_.tracer().SetRecorder(nullptr);
  model_.tracer().Clear();
  current_recorder = nullptr;
}

}  // namespace etprof::runner
