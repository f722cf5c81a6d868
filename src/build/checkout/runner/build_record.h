#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/json/describe.h"

namespace etprof {

// The build of a runner in a checkout of ExecuTorch, as in the etprof-build.json next to it. Members
// that are not known are empty or absent.
struct BuildRecord {
  std::string preset;
  bool trace_enabled = false, llm_kernels = false;
  std::optional<std::size_t> sme2_sources, kleidiai_sources;  // sources compiled for SME2
  std::optional<bool> sme_in_code;  // the program enters streaming mode; absent: not for aarch64
  std::string runner_sha256;
  std::string executorch_version;
  std::string commit;
  std::optional<bool> dirty;         // whether the checkout differed from the commit
  std::vector<std::string> changes;  // lines of `git status`, at most 20
  std::string compiler, cmake, ninja;
  std::string ndk;  // empty: the runner is not for Android
  std::string built_at;
  double seconds = 0;
  std::string etprof_version;

  static void Describe(auto& v) {
    using R = BuildRecord;
    constexpr MemberInfo kNullIfUnknown{.or_null = true};
    v("preset", &R::preset, {.meaning = "of `etprof build --executorch`"});
    v("trace_enabled", &R::trace_enabled, {.meaning = "it writes kernel logs"});
    v("llm_kernels", &R::llm_kernels, {.meaning = "it has ExecuTorch's kernels for language models"});
    v.Object("sme",
             [](auto& sme) {
               sme("sources", &R::sme2_sources, {.meaning = "XNNPACK's for SME2 that were compiled"});
               sme("kleidiai_sources", &R::kleidiai_sources, {.meaning = "likewise KleidiAI's"});
               sme("in_code", &R::sme_in_code,
                   {.meaning = "whether the program enters streaming mode; null: it is none for aarch64"});
             },
             {.meaning = "what of SME the build has"});
    v("runner_sha256", &R::runner_sha256,
      {.meaning = "of the runner that was built", .pattern = kSha256Pattern});
    v("executorch_version", &R::executorch_version, kNullIfUnknown.WithMeaning("of the checkout"));
    v("commit", &R::commit, {.meaning = "null: git does not say", .or_null = true});
    v("dirty", &R::dirty, {.meaning = "the checkout differs from the commit"});
    v("changed", &R::changes, {.meaning = "lines of `git status` that say how, at most 20"});
    v("compiler", &R::compiler, kNullIfUnknown.WithMeaning("of the runner's portable and optimized kernels"));
    v("cmake", &R::cmake, {.meaning = "version"});
    v("ninja", &R::ninja, {.meaning = "version"});
    v("ndk", &R::ndk, {.meaning = "version; null: not for Android", .or_null = true});
    v("built_at", &R::built_at, {.meaning = "UTC"});
    v("seconds", &R::seconds, {.meaning = "that the build took", .min = 0});
    v("etprof_version", &R::etprof_version, {.meaning = "that built it"});
  }
};

}  // namespace etprof
