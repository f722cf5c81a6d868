#include "mutate_json.h"

#include <limits>
#include <utility>
#include <vector>

#include "fuzz.h"

namespace etprof::fuzz {
namespace {

using nlohmann::json;

// Chooses a value of the document at any depth.
json& ChooseValue(json& root, Choices& choices) {
  json* at = &root;
  while (at->is_structured() && !at->empty() && choices.Below(4) != 0) {
    auto child = at->begin();
    std::advance(child, static_cast<std::ptrdiff_t>(choices.Below(at->size())));
    at = &*child;
  }
  return *at;
}

json ChooseReplacement(Choices& choices) {
  static const std::vector<json> kValues = {nullptr,
                                            true,
                                            false,
                                            0,
                                            -1,
                                            1,
                                            0.5,
                                            -0.0,
                                            1e308,
                                            -1e308,
                                            4e-320,
                                            std::numeric_limits<std::int64_t>::max(),
                                            std::numeric_limits<std::int64_t>::min(),
                                            std::numeric_limits<std::uint64_t>::max(),
                                            2147483648,
                                            "",
                                            "..",
                                            "/",
                                            "a\u202e\x1b[2J\n",
                                            "@a https://b |`*",
                                            "-1",
                                            "100 %",
                                            "9999999999999999999 GB",
                                            std::string(300, 'x'),
                                            std::string(1, '\0'),
                                            json::array(),
                                            json::object(),
                                            json::array({json::object()}),
                                            json::array({nullptr}),
                                            json::object({{"", 1}})};
  return kValues[choices.Below(kValues.size())];
}

}  // namespace

std::string MutateJson(std::string_view valid, const std::uint8_t* data, std::size_t size) {
  if (size > 0 && (data[0] == '{' || data[0] == '[')) return Text(data, size);
  json root = json::parse(valid);
  Choices choices(data, size);
  for (int changes = 0; changes < 20 && !choices.Done(); ++changes) {
    json& at = ChooseValue(root, choices);
    switch (choices.Below(6)) {
      case 0:
        if (at.is_structured() && !at.empty()) {
          auto child = at.begin();
          std::advance(child, static_cast<std::ptrdiff_t>(choices.Below(at.size())));
          at.erase(child);
          break;
        }
        [[fallthrough]];
      case 1:
        at = json(ChooseValue(root, choices));
        break;
      case 2:
        if (at.is_array() && !at.empty()) {
          at.push_back(json(at.back()));
          break;
        }
        [[fallthrough]];
      default:
        at = ChooseReplacement(choices);
    }
    if (root.dump().size() > (1U << 16U)) break;
  }
  return root.dump();
}

}  // namespace etprof::fuzz
