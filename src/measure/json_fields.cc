#include "measure/json_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace etprof {
namespace {

// The line of the only place where `key` stands as a member's name; absent where it stands often.
std::optional<std::uint64_t> LineOfKey(const std::string& text, const std::string& key) {
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

// Optimal string alignment distance (a swap of neighbours counts 1).
std::size_t Distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t cost = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + cost});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

std::string TypeOf(const nlohmann::json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  if (value.is_string()) return "a text";
  if (value.is_boolean()) return "true or false";
  return value.is_null() ? "null" : value.dump();
}

}  // namespace

JsonFields::JsonFields(const nlohmann::json& object, const Source& source, std::string path)
    : object_(object), source_(source), path_(std::move(path)) {
  if (!object_.is_object()) {
    throw Error(ExitCode::kBadInput, fmt::format("{} must be an object, but is {}",
                                                 path_.empty() ? "the whole" : path_, TypeOf(object_)))
        .InFile(source_.file.string());
  }
}

Error JsonFields::Wrong(const std::string& key, const std::string& problem) const {
  Error error(ExitCode::kBadInput, fmt::format("{}: {}", Path(key), problem));
  error.InFile(source_.file.string());
  if (const auto line = LineOfKey(source_.text, key)) error.AtLine(*line);
  return error;
}

const nlohmann::json* JsonFields::Find(const std::string& key) {
  known_.insert(key);
  const auto found = object_.find(key);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

std::optional<std::string> JsonFields::Text(const std::string& key) {
  const nlohmann::json* value = Find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) throw Wrong(key, fmt::format("must be a text, but is {}", TypeOf(*value)));
  return value->get<std::string>();
}

std::optional<double> JsonFields::Number(const std::string& key, double low, double high) {
  const nlohmann::json* value = Find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) throw Wrong(key, fmt::format("must be a number, but is {}", TypeOf(*value)));
  const double number = value->get<double>();
  if (!(number >= low && number <= high))
    throw Wrong(key, fmt::format("must be {} to {}, but is {}", low, high, value->dump()));
  return number;
}

namespace {

std::optional<int> AsInteger(const nlohmann::json& value, int low, int high) {
  if (!value.is_number()) return std::nullopt;
  const double number = value.get<double>();
  if (number != std::floor(number) || number < low || number > high) return std::nullopt;
  return static_cast<int>(number);
}

}  // namespace

std::optional<int> JsonFields::Integer(const std::string& key, int low, int high) {
  const nlohmann::json* value = Find(key);
  if (value == nullptr) return std::nullopt;
  const auto number = AsInteger(*value, low, high);
  if (!number)
    throw Wrong(key,
                fmt::format("must be a whole number from {} to {}, but is {}", low, high, TypeOf(*value)));
  return number;
}

std::optional<std::vector<int>> JsonFields::Integers(const std::string& key, int low, int high) {
  const nlohmann::json* value = Find(key);
  if (value == nullptr) return std::nullopt;
  std::vector<int> numbers;
  for (const nlohmann::json& item : value->is_array() ? *value : nlohmann::json::array({*value})) {
    const auto number = AsInteger(item, low, high);
    if (!number) {
      throw Wrong(key, fmt::format("must be a whole number from {} to {} or a list of them, but has {}", low,
                                   high, TypeOf(item)));
    }
    numbers.push_back(*number);
  }
  if (numbers.empty()) throw Wrong(key, "the list is empty");
  return numbers;
}

std::optional<std::vector<std::string>> JsonFields::Texts(const std::string& key, bool split) {
  const nlohmann::json* value = Find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) {
    const std::string text = value->get<std::string>();
    return split ? SplitCommandLine(text) : std::vector<std::string>{text};
  }
  if (!value->is_array())
    throw Wrong(key, fmt::format("must be a text or a list of texts, but is {}", TypeOf(*value)));
  std::vector<std::string> texts;
  for (const nlohmann::json& item : *value) {
    if (!item.is_string()) throw Wrong(key, fmt::format("must be a list of texts, but has {}", TypeOf(item)));
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

void JsonFields::Finish() {
  for (const auto& [key, value] : object_.items()) {
    if (known_.contains(key) || key.starts_with("_") || key == "description" || key == "comment") continue;
    Error error = Wrong(key, "unknown key");
    if (const auto nearest = NearestName(key, known_)) {
      error.Remedy(fmt::format("did you mean \"{}\"?", *nearest));
    } else {
      std::string all;
      for (const std::string& name : known_) all += (all.empty() ? "" : ", ") + name;
      error.Remedy("known here: " + all);
    }
    throw error;
  }
}

std::optional<std::string> NearestName(const std::string& name, const std::set<std::string>& known) {
  std::optional<std::string> nearest;
  std::size_t smallest = std::max<std::size_t>(2, name.size() / 3) + 1;
  if (name.size() > 100) return std::nullopt;
  for (const std::string& candidate : known) {
    const std::size_t distance = Distance(name, candidate);
    if (distance < smallest) {
      smallest = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::vector<std::string> SplitCommandLine(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (in_word) words.push_back(std::exchange(word, {}));
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (in_word) words.push_back(word);
  return words;
}

}  // namespace etprof
