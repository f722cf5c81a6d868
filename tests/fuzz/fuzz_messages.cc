// Bytes as a line of the worker protocol, taken for each of its messages. A message that is accepted is
// written and read again.

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "fuzz.h"
#include "protocol/messages.h"

namespace {

using nlohmann::json;
using namespace etprof::protocol;

template <typename Message>
void Take(const json& line) {
  json written;
  try {
    Message message;
    from_json(line, message);
    to_json(written, message);
  } catch (const json::exception&) {
    return;
  } catch (const std::invalid_argument&) {
    return;
  }
  Message again;
  from_json(json::parse(written.dump()), again);
  json twice;
  to_json(twice, again);
  etprof::fuzz::Require(twice.dump() == written.dump(),
                        "a message that is written and read again is the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
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
