// The input is a line of the worker protocol, which is parsed as each of the protocol's messages. Accepted
// messages are written and read again.

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/json/json_members.h"
#include "fuzz.h"
#include "protocol/messages.h"

namespace {

using nlohmann::json;
using namespace etprof::protocol;

template <typename Message>
void CheckRoundTrip(const json& line) {
  json written;
  try {
    written = line.get<Message>();
  } catch (const json::exception&) {
    return;
  } catch (const std::invalid_argument&) {
    return;
  }
  const json reread = json::parse(written.dump()).get<Message>();
  etprof::fuzz::Require(reread.dump() == written.dump(),
                        "a message that is written and read again is the same");
}

}  // namespace

ETPROF_FUZZ_TARGET(messages) {
  const json line = json::parse(data, data + size, nullptr, false);
  if (line.is_discarded()) return 0;
  CheckRoundTrip<Ready>(line);
  CheckRoundTrip<LoadRequest>(line);
  CheckRoundTrip<LoadReply>(line);
  CheckRoundTrip<BurstRequest>(line);
  CheckRoundTrip<BurstReply>(line);
  CheckRoundTrip<OutputsRequest>(line);
  CheckRoundTrip<OutputsReply>(line);
  CheckRoundTrip<EtdumpRequest>(line);
  CheckRoundTrip<EtdumpReply>(line);
  CheckRoundTrip<MemoryReply>(line);
  return 0;
}
