#include "measure/config/json_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/file/file.h"
#include "core/file/file_kind.h"
#include "core/json/json.h"
#include "core/text/suggest.h"
#include "core/text/text.h"
#include "device/device.h"
#include "device/tool.h"

namespace etprof {
namespace {

constexpr std::size_t kMaxConfigBytes = std::size_t{4} << 20U;  // small enough to be parsed at once

// The line that has `key` as a member's name. Absent if several lines have it, and for a text of a single
// line, as programs write it.
std::optional<std::uint64_t> FindLineOfKey(const std::string& text, const std::string& key) {
  if (text.find('\n') == std::string::npos) return std::nullopt;
  const std::string quoted = nlohmann::json(key).dump();
  std::optional<std::uint64_t> line;
  for (std::size_t at = text.find(quoted); at != std::string::npos; at = text.find(quoted, at + 1)) {
    const std::size_t next = text.find_first_not_of(" \t\r\n", at + quoted.size());
    if (next == std::string::npos || text[next] != ':') continue;
    if (line) return std::nullopt;
    line = 1 + static_cast<std::uint64_t>(
                   std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  }
  return line;
}

std::string DescribeType(const nlohmann::json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  if (value.is_string()) return "a text";
  if (value.is_boolean()) return "true or false";
  return value.is_null() ? "null" : value.dump();
}

std::optional<std::int64_t> AsInteger(const nlohmann::json& value, std::int64_t low, std::int64_t high) {
  if (!value.is_number()) return std::nullopt;
  const double number = value.get<double>();
  if (number != std::floor(number) || number < static_cast<double>(low) || number > static_cast<double>(high))
    return std::nullopt;
  return static_cast<std::int64_t>(number);
}

}  // namespace

nlohmann::json ParseConfigText(const JsonFields::Source& source, const char* remedy) {
  using nlohmann::json;
  const std::string& text = source.text;
  const auto make_error = [&](const std::string& problem) {
    return Error(ExitCode::kBadInput, problem).InFile(source.file.string()).Remedy(remedy);
  };
  if (text.size() > kMaxConfigBytes) {
    throw make_error(fmt::format("has {} bytes, and a configuration has {} MiB at most", text.size(),
                                 kMaxConfigBytes >> 20U));
  }
  if (NestsTooDeep(text, /*with_comments=*/true))
    throw make_error(fmt::format("nests deeper than {} lists and objects", kMaxJsonNesting));
  // The parser would take the last value of a repeated key.
  std::vector<std::set<std::string>> open_objects;
  std::string repeated_key;
  const auto collect_keys = [&](int, json::parse_event_t event, const json& value) {
    if (event == json::parse_event_t::object_start) open_objects.emplace_back();
    if (event == json::parse_event_t::object_end) open_objects.pop_back();
    if (event == json::parse_event_t::key && !open_objects.back().insert(value.get<std::string>()).second)
      repeated_key = value.get<std::string>();
    return true;
  };
  try {
    json root = json::parse(text, collect_keys, true, /*ignore_comments=*/true);
    if (!repeated_key.empty())
      throw make_error(fmt::format("has the key \"{}\" twice in one object", repeated_key));
    return root;
  } catch (const json::parse_error& error) {
    if (const auto other_kind = OtherFileKind(text, source.file.string(), "JSON")) throw *other_kind;
    const std::size_t byte = std::min<std::size_t>(error.byte, text.size());
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(byte), '\n');
    std::string message =
        error.what();  // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    const std::size_t start = message.find("column ");
    const std::size_t colon = start == std::string::npos ? start : message.find(": ", start);
    if (colon != std::string::npos) message.erase(0, colon + 2);
    throw make_error(text.empty() ? "is empty" : "is not JSON: " + Shorten(message, 200))
        .AtLine(static_cast<std::uint64_t>(line));
  } catch (const json::out_of_range&) {  // this exception has no position
    throw make_error("has a number that is larger than any that can be stored");
  }
}

std::filesystem::path ResolvePath(const std::filesystem::path& path, const std::filesystem::path& folder) {
  if (path.empty()) return {};
  return std::filesystem::absolute(Exists(path) ? path : folder / path).lexically_normal();
}

JsonFields::JsonFields(const nlohmann::json& object, const Source& source, std::string path)
    : object_(object), source_(source), path_(std::move(path)) {
  if (!object_.is_object()) {
    throw Error(ExitCode::kBadInput, fmt::format("{} must be an object, but is {}",
                                                 path_.empty() ? "the whole" : path_, DescribeType(object_)))
        .InFile(source_.file.string())
        .Remedy("see docs/reference/config.md");
  }
}

Error JsonFields::KeyError(const std::string& key, const std::string& problem) const {
  Error error(ExitCode::kBadInput, fmt::format("{}: {}", Path(key), problem));
  error.InFile(source_.file.string());
  if (const auto line = FindLineOfKey(source_.text, key)) error.AtLine(*line);
  return error;
}

void JsonFields::CheckValue(const std::string& key, const std::function<void()>& check) const {
  try {
    check();
  } catch (const Error& error) {
    throw KeyError(key, error.problem()).Remedy(error.remedy());
  }
}

const nlohmann::json* JsonFields::Find(const std::string& key) {
  known_keys_.insert(key);
  const auto found = object_.find(key);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

template <typename T>
std::optional<T> JsonFields::ReadAs(const std::string& key, bool (nlohmann::json::*is_type)() const noexcept,
                                    const char* expected) {
  const nlohmann::json* value = Find(key);
  if (value == nullptr) return std::nullopt;
  if (!(value->*is_type)())
    throw KeyError(key, fmt::format("must be {}, but is {}", expected, DescribeType(*value)));
  return value->get<T>();
}

std::optional<bool> JsonFields::Bool(const std::string& key) {
  return ReadAs<bool>(key, &nlohmann::json::is_boolean, "true or false");
}

std::optional<std::string> JsonFields::Text(const std::string& key) {
  return ReadAs<std::string>(key, &nlohmann::json::is_string, "a text");
}

std::optional<double> JsonFields::Number(const std::string& key, double low, double high) {
  const auto number = ReadAs<double>(key, &nlohmann::json::is_number, "a number");
  if (number && !(*number >= low && *number <= high))
    throw KeyError(key, fmt::format("must be {} to {}, but is {}", low, high, Find(key)->dump()));
  return number;
}

std::optional<std::int64_t> JsonFields::Integer(const std::string& key, std::int64_t low, std::int64_t high) {
  const nlohmann::json* value = Find(key);
  if (value == nullptr) return std::nullopt;
  const auto number = AsInteger(*value, low, high);
  if (!number)
    throw KeyError(
        key, fmt::format("must be a whole number from {} to {}, but is {}", low, high, DescribeType(*value)));
  return number;
}

std::optional<std::vector<int>> JsonFields::Integers(const std::string& key, int low, int high) {
  const nlohmann::json* value = Find(key);
  if (value == nullptr) return std::nullopt;
  std::vector<int> numbers;
  for (const nlohmann::json& item : value->is_array() ? *value : nlohmann::json::array({*value})) {
    const auto number = AsInteger(item, low, high);
    if (!number) {
      throw KeyError(key, fmt::format("must be a whole number from {} to {} or a list of them, but has {}",
                                      low, high, DescribeType(item)));
    }
    numbers.push_back(static_cast<int>(*number));
  }
  return numbers;
}

std::optional<std::vector<std::string>> JsonFields::Texts(const std::string& key, bool split) {
  const nlohmann::json* value = Find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) {
    const std::string text = value->get<std::string>();
    return split ? SplitCommand(text) : std::vector<std::string>{text};
  }
  if (!value->is_array())
    throw KeyError(key, fmt::format("must be a text or a list of texts, but is {}", DescribeType(*value)));
  std::vector<std::string> texts;
  for (const nlohmann::json& item : *value) {
    if (!item.is_string())
      throw KeyError(key, fmt::format("must be a list of texts, but has {}", DescribeType(item)));
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

void JsonFields::AddVariables(const std::string& key, std::map<std::string, std::string>& variables) {
  const nlohmann::json* const object = Find(key);
  if (object == nullptr) return;
  if (!object->is_object()) throw KeyError(key, "must be an object of texts");
  for (const auto& [name, value] : object->items()) {
    if (!IsVariableName(name))
      throw KeyError(
          key, fmt::format("\"{}\" is not a name of a variable, which has letters, digits, and _", name));
    if (!value.is_string() && !value.is_number()) throw KeyError(key, fmt::format("{} must be a text", name));
    std::string& text = variables[name] = value.is_string() ? value.get<std::string>() : value.dump();
    if (text.find('\0') != std::string::npos)
      throw KeyError(key, fmt::format("{} has a NUL character", name));
  }
}

void JsonFields::RequireElements(const std::string& key, const MemberInfo& info) {
  const nlohmann::json* const list = Find(key);
  if (list == nullptr || !list->is_array()) return;
  if (info.non_empty && list->empty()) throw KeyError(key, "the list is empty");
  std::set<nlohmann::json> seen;
  for (const nlohmann::json& element : *list) {
    if (info.unique && !seen.insert(element).second)
      throw KeyError(key, fmt::format("{} is there twice", element.dump()));
  }
}

void JsonFields::Finish() {
  for (const auto& [key, value] : object_.items()) {
    if (known_keys_.contains(key) || key.starts_with("_") || key == "description" || key == "comment")
      continue;
    throw KeyError(key, "unknown key")
        .Remedy(DidYouMean(key, known_keys_, fmt::format("known here: {}", fmt::join(known_keys_, ", "))));
  }
}

}  // namespace etprof
