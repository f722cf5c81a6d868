// The input is a program of small instructions that makes a well-formed ETDump with any events, since random
// bytes seldom are an ETDump and this target tests the code after the reader. The events have names from a
// list and any times.

#include <array>

#include "check_profile.h"
#include "etdump_schema_flatcc_generated.h"
#include "format/etdump/reader.h"
#include "fuzz.h"

namespace {

using namespace etprof;

constexpr std::array kFuzzedNames = {
    "Method::execute",
    "OPERATOR_CALL",
    "DELEGATE_CALL",
    "Method::init",
    "Program::load_method",
    "native_call_add.out",
    "native_call_mean.out",
    "Convolution (NHWC, F32) IGEMM #1",
    "Fully Connected (NC, F32) GEMM #2",
    "Transpose (ND, X32) #1",
    "",
    "a,\"b\"\r\n|<c>`_*\\",
    "\x1b[31mred\xff",
    "# 1 #",
    "native_call_",
    "Unknown (X) #18446744073709551616",
};

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}
  bool Empty() const { return left_ == 0; }
  std::uint8_t Byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  // A time near `previous` in most cases, rarely any other.
  std::uint64_t Time(std::uint64_t previous) {
    const std::uint8_t kind = Byte();
    if (kind < 0xf0) return previous + kind;
    if (kind < 0xf8) return previous - Byte();
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value = value << 8 | Byte();
    // Below 13 days, so that the sum of all times in an input does not overflow.
    return value >> 14;
  }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

std::unique_ptr<::etdump::EventT> ReadEvent(Input& input, std::uint8_t kind, std::uint64_t& now) {
  auto event = std::make_unique<::etdump::EventT>();
  if (kind == 1) return event;
  if (kind == 2) {
    event->allocation_event = std::make_unique<::etdump::AllocationEventT>();
    return event;
  }
  if (kind == 3) {
    event->debug_event = std::make_unique<::etdump::DebugEventT>();
    return event;
  }
  event->profile_event = std::make_unique<::etdump::ProfileEventT>();
  ::etdump::ProfileEventT& profile = *event->profile_event;
  const std::uint8_t name = input.Byte();
  (name % 2 == 0 ? profile.name : profile.delegate_debug_id_str) =
      kFuzzedNames[name / 2 % kFuzzedNames.size()];
  if (name == 0xff) profile.delegate_debug_id_str.clear();
  const std::uint8_t place = input.Byte();
  profile.instruction_id = place == 0xff ? -1 : place % 8;
  profile.chain_index = place >= 0xf0 ? place - 0xf1 : 0;
  profile.delegate_debug_id_int = kind == 4 ? place : -1;
  profile.start_time = input.Time(now);
  profile.end_time = input.Time(profile.start_time);
  now = profile.start_time;
  return event;
}

}  // namespace

ETPROF_FUZZ_TARGET(events) {
  Input input(data, size);
  ::etdump::ETDumpT dump;
  std::uint64_t now = 1000;
  while (!input.Empty()) {
    const std::uint8_t kind = input.Byte() % 16;
    if (kind == 0 || dump.run_data.empty()) {
      auto run = std::make_unique<::etdump::RunDataT>();
      run->name = input.Byte() % 4 == 0 ? "Default" : "Execute";
      dump.run_data.push_back(std::move(run));
      continue;
    }
    dump.run_data.back()->events.push_back(ReadEvent(input, kind, now));
  }
  flatbuffers::FlatBufferBuilder builder;
  ::etdump::FinishSizePrefixedETDumpBuffer(builder, ::etdump::ETDump::Pack(builder, &dump));
  // Inferences of implausible length are refused.
  fuzz::Accepts({ExitCode::kBadInput}, [&] {
    fuzz::CheckEtdump(ReadEtdump(fuzz::Bytes(builder.GetBufferPointer(), builder.GetSize()), "x.etdump"));
  });
  return 0;
}
