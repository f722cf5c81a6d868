#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/json/describe.h"

namespace etprof {

// Makes a path absolute: relative to the current folder if such a file is there, else to `folder` (empty: the
// current folder). An empty path counts as not given and stays empty.
std::filesystem::path ResolvePath(const std::filesystem::path& path, const std::filesystem::path& folder);

// Reads the members of a JSON object that a person wrote. Every member must be read by name, or Finish()
// reports it as unknown. All functions throw Error (kBadInput) with the file, the line of the key (if the key
// occurs only once), and the path ("experiments[1].runs").
class JsonFields {
 public:
  struct Source {
    const std::string& text;
    std::filesystem::path file;

    // Resolves a path in the file.
    std::filesystem::path Resolve(const std::filesystem::path& path) const {
      return ResolvePath(path, file.parent_path());
    }
  };
  JsonFields(const nlohmann::json& object, const Source& source, std::string path);

  // Absent: the member does not exist or is null.
  const nlohmann::json* Find(const std::string& key);
  std::optional<std::string> Text(const std::string& key);
  std::optional<double> Number(const std::string& key, double low, double high);
  std::optional<std::int64_t> Integer(const std::string& key, std::int64_t low, std::int64_t high);
  std::optional<bool> Bool(const std::string& key);
  // One integer, or a list of integers, as the profiling kit writes threads.
  std::optional<std::vector<int>> Integers(const std::string& key, int low, int high);
  // One string (with `split`: split at blanks, respecting quotes), or a list of strings.
  std::optional<std::vector<std::string>> Texts(const std::string& key, bool split);

  // Adds the environment variables of an object, whose values are texts or numbers, and replaces those of the
  // same name.
  void AddVariables(const std::string& key, std::map<std::string, std::string>& variables);

  // Throws if a list is empty or has duplicates although `info` forbids that.
  void RequireElements(const std::string& key, const MemberInfo& info);

  // Throws for members that were not read. Members that begin with "_", and "description" and "comment", are
  // ignored.
  void Finish();

  // An Error (kBadInput) about the value of a key, with the file, line, and path.
  Error KeyError(const std::string& key, const std::string& problem) const;
  // Calls `check`, and turns its Error into an Error about the key.
  void CheckValue(const std::string& key, const std::function<void()>& check) const;
  std::string Path(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }

 private:
  // Reads a member of type T. `is_type` checks the JSON type, which errors describe as `expected`.
  template <typename T>
  std::optional<T> ReadAs(const std::string& key, bool (nlohmann::json::*is_type)() const noexcept,
                          const char* expected);

  const nlohmann::json& object_;
  const Source& source_;
  std::string path_;
  std::set<std::string> known_keys_;
};

// Parses the file as JSON with comments. Throws Error (kBadInput) with the line for invalid JSON, and for
// sizes and nesting beyond any hand-written file. `remedy` is the remedy of the errors.
nlohmann::json ParseConfigText(const JsonFields::Source& source, const char* remedy);

// Reads the keys that a struct describes. Members without a key, or with null, keep their values. For a
// kDocumentedKey, only the type is checked.
template <typename T>
class ReadKeys {
 public:
  ReadKeys(JsonFields& fields, T& keys) : fields_(fields), keys_(keys) { T::Describe(*this); }

  template <typename M, typename Owner>
  void operator()(const char* key, M Owner::*member, const MemberInfo& info = {}) {
    Read(key, keys_.*member, info);
    fields_.RequireElements(key, info);
  }
  template <typename Getter>
  void operator()(const char* key, const Getter& getter, const MemberInfo& info = {}) {
    typename decltype(getter(keys_))::Form read{};
    Read(key, read, info);
    fields_.RequireElements(key, info);
  }

 private:
  static void Assign(auto&& found, auto& value) {
    if (found) value = static_cast<std::decay_t<decltype(value)>>(*std::move(found));
  }
  template <typename M>
  void Read(const char* key, std::optional<M>& value, const MemberInfo& info) {
    if (fields_.Find(key) != nullptr) Read(key, value.emplace(), info);
  }
  template <typename M>
  void Read(const char* key, M& value, const MemberInfo& info) {
    const auto bound = [](const std::optional<double>& limit) { return static_cast<int>(limit.value()); };
    if constexpr (std::is_same_v<M, bool>) {
      Assign(fields_.Bool(key), value);
    } else if constexpr (std::is_floating_point_v<M>) {
      Assign(fields_.Number(key, info.min.value(), info.max.value()), value);
    } else if constexpr (std::is_integral_v<M>) {
      constexpr double kMaxExactInteger = std::int64_t{1} << 53;  // largest exact integer in JSON
      Assign(fields_.Integer(key, static_cast<std::int64_t>(info.min.value()),
                             static_cast<std::int64_t>(info.max.value_or(kMaxExactInteger))),
             value);
    } else if constexpr (std::is_same_v<M, std::vector<int>>) {
      Assign(fields_.Integers(key, bound(info.min), bound(info.max)), value);
    } else if constexpr (std::is_same_v<M, std::vector<std::string>>) {
      Assign(fields_.Texts(key, info.split_words), value);
    } else if constexpr (std::is_same_v<M, std::string> || std::is_same_v<M, std::filesystem::path>) {
      Assign(fields_.Text(key), value);
    } else {
      fields_.Find(key);  // marks the key as read: the caller reads keys of other types
    }
  }

  JsonFields& fields_;
  T& keys_;
};

}  // namespace etprof
