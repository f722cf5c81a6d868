#include "timing/recording.h"

#include "timing/operator_clock.h"

namespace etprof::runner {
namespace {

BoundaryRecorder* current_recorder = nullptr;  // the clock's hook takes no argument

}  // namespace

Recording::Recording(Model& model, BoundaryRecorder& recorder) : model_(model) {
  current_recorder = &recorder;
  model_.tracer().ReportTo(&recorder);
  model_.SetTracing(true);
  CallAtBoundaries([] { current_recorder->Boundary(); });
}

Recording::~Recording() {
  CallAtBoundaries(nullptr);
  model_.SetTracing(false);
  model_.tracer().ReportTo(nullptr);
  model_.tracer().Forget();
  current_recorder = nullptr;
}

}  // namespace etprof::runner
