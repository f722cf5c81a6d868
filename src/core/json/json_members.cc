#include "core/json/json_members.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <regex>
#include <set>

namespace etprof::describe {

std::string PathText(const std::filesystem::path& path, const std::filesystem::path& folder) {
  if (path.empty() || folder.empty()) return path.string();
  const std::filesystem::path relative = path.lexically_relative(folder);
  return relative.empty() || relative.native().starts_with("..") ? path.string() : relative.string();
}

std::filesystem::path ParsePath(const std::string& text, const std::filesystem::path& folder) {
  const std::filesystem::path path = text;
  return text.empty() || folder.empty() || path.is_absolute() ? path : folder / path;
}

void ThrowInvalid(const char* key, const std::string& problem) {
  throw std::invalid_argument(fmt::format("\"{}\" {}", key, problem));
}

std::int64_t ReadInteger(const nlohmann::json& value, const char* key, const MemberInfo& info,
                         std::int64_t lowest, std::int64_t highest) {
  // A bound that does not fit into 64 bits is replaced by the limit of the type.
  const auto bound = [](double limit, std::int64_t type_limit) {
    return std::abs(limit) < 9e18 ? static_cast<std::int64_t>(limit) : type_limit;
  };
  const std::int64_t min = std::max(lowest, bound(info.min.value_or(0), lowest));
  const std::int64_t max = info.max ? std::min(highest, bound(*info.max, highest)) : highest;
  // 2.0 is an integer, as in JSON Schema.
  if (value.is_number_float()) {
    const auto number = value.get<double>();
    if (number == std::floor(number) && std::abs(number) < 0x1p63)
      return ReadInteger(static_cast<std::int64_t>(number), key, info, lowest, highest);
  }
  if (!value.is_number_integer()) ThrowInvalid(key, "must be an integer");
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(max))
    ThrowInvalid(key, fmt::format("must be at most {}", max));
  const auto number = value.get<std::int64_t>();
  if (number < min) ThrowInvalid(key, fmt::format("must be at least {}", min));
  if (number > max) ThrowInvalid(key, fmt::format("must be at most {}", max));
  return number;
}

std::uint64_t ReadUnsigned(const nlohmann::json& value, const char* key, const MemberInfo& info,
                           std::uint64_t highest) {
  // ReadInteger handles bounded types and values that fit into a signed integer; the rest is handled here.
  constexpr std::int64_t kMaxSigned = std::numeric_limits<std::int64_t>::max();
  if (info.max || highest <= static_cast<std::uint64_t>(kMaxSigned) || !value.is_number_unsigned() ||
      value.get<std::uint64_t>() <= static_cast<std::uint64_t>(kMaxSigned)) {
    MemberInfo bounds = info;
    bounds.min = std::max(0.0, info.min.value_or(0));
    return static_cast<std::uint64_t>(ReadInteger(
        value, key, bounds, 0, static_cast<std::int64_t>(std::min(highest, std::uint64_t{kMaxSigned}))));
  }
  const auto number = value.get<std::uint64_t>();
  if (number > highest) ThrowInvalid(key, fmt::format("must be at most {}", highest));
  return number;
}

void RequireNumber(double number, const char* key, const MemberInfo& info) {
  if (!std::isfinite(number)) ThrowInvalid(key, "must be a finite number");
  if (info.min && number < *info.min) ThrowInvalid(key, fmt::format("must be at least {}", *info.min));
  if (info.max && number > *info.max) ThrowInvalid(key, fmt::format("must be at most {}", *info.max));
  if (info.exclusive && info.min && number == *info.min)
    ThrowInvalid(key, fmt::format("must be above {}", *info.min));
  if (info.exclusive && info.max && number == *info.max)
    ThrowInvalid(key, fmt::format("must be below {}", *info.max));
}

double ReadNumber(const nlohmann::json& value, const char* key, const MemberInfo& info) {
  if (!value.is_number()) ThrowInvalid(key, "must be a number");
  const auto number = value.get<double>();
  RequireNumber(number, key, info);
  return number;
}

void RequireText(const std::string& text, const char* key, const MemberInfo& info) {
  if (!info.choices.empty() && fmt::format("|{}|", info.choices).find("|" + text + "|") == std::string::npos)
    ThrowInvalid(key, "has a value that is not known");
  if (info.non_empty && text.empty()) ThrowInvalid(key, "must not be empty");
  if (!info.pattern.empty() && !MatchesPattern(text, info.pattern))
    ThrowInvalid(key, fmt::format("must look like {}", info.pattern));
}

std::string ReadText(const nlohmann::json& value, const char* key, const MemberInfo& info) {
  if (!value.is_string()) ThrowInvalid(key, "must be a string");
  auto text = value.get<std::string>();
  RequireText(text, key, info);
  return text;
}

void RequireList(const nlohmann::json& value, const char* key, const MemberInfo& info) {
  if (!value.is_array()) ThrowInvalid(key, "must be an array");
  if (info.non_empty && value.empty()) ThrowInvalid(key, "must not be empty");
  if (info.unique && std::set<nlohmann::json>(value.begin(), value.end()).size() < value.size())
    ThrowInvalid(key, "has an element twice");
}

bool MatchesPattern(const std::string& text, std::string_view pattern) {
  constexpr std::size_t kMaxBytes = 1000;  // std::regex recurses with the length of the text
  static std::mutex mutex;
  // Cached, because a manifest has thousands of texts.
  static std::map<std::string, std::regex, std::less<>> compiled;
  const std::regex* expression = nullptr;
  {
    const std::scoped_lock lock(mutex);
    auto found = compiled.find(pattern);
    if (found == compiled.end())
      found = compiled.emplace(pattern, std::regex(std::string(pattern), std::regex::ECMAScript)).first;
    expression = &found->second;
  }
  return text.size() <= kMaxBytes && std::regex_search(text, *expression);
}

bool ReadFlag(const nlohmann::json& value, const char* key) {
  if (!value.is_boolean()) ThrowInvalid(key, "must be true or false");
  return value.get<bool>();
}

void RequireObject(const nlohmann::json& value) {
  if (!value.is_object()) throw std::invalid_argument("must be a JSON object");
}

void Reader::ReadKeyImpl(const nlohmann::json& json, const char* key, const MemberInfo& info,
                         const void* reader, void (*read)(const void*, const nlohmann::json&)) {
  const auto found = json.find(key);
  if (found == json.end()) {
    if (mode_ == ReadMode::kAllKeysRequired && !info.omit_if_empty) ThrowInvalid(key, "is missing");
    return;
  }
  if (mode_ == ReadMode::kAllKeysRequired && !info.present_with.empty() && !json.contains(info.present_with))
    ThrowInvalid(key, fmt::format("is there without \"{}\"", info.present_with));
  if (mode_ != ReadMode::kTolerant) return read(reader, *found);
  if (found->is_null()) return;
  try {
    read(reader, *found);
  } catch (const std::invalid_argument&) {
    ++invalid_values_;
  }
}

}  // namespace etprof::describe
