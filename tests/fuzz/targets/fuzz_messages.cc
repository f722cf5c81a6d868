// Bytes as a line of the worker protocol, taken for each of its messages. A message that is accepted is
// written and read again.

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/json/json_members.h"
#include "fuzz.h"
#include "protocol/messages.h"

namespace {

using nlohmann::json;
using namespace etprof::protocol;

template <typename Message>
void Take(const json& line) {
  json written;
  try {
    written = line.get<Message>();
  } catch (const json::exception&) {
    return;
  } catch (const std::invalid_argument&) {
    return;
  }
  const json twice = json::parse(written.dump()).get<Message>();
  etprof::fuzz::Require(twice.dump() == written.dump(),
                        "a message that is written and read again is the same");
}

}  // namespace

ETPROF_FUZZ_TARGET(messages) {
  const json line = json::parse(data, data + size, nullptr, false);
  if (line.is_discarded()) return 0;
  Take<Ready>(line);
  Take<LoadRequest>(line);
  Take<LoadReply>(line);
  Take<BurstRequest>(line);
  Take<BurstReply>(line);
  Take<OutputsRequest>(line);
  Take<OutputsReply>(line);
  Take<EtdumpRequest>(line);
  Take<EtdumpReply>(line);
  Take<MemoryReply>(line);
  return 0;
}
