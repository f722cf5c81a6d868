#pragma once

#include <filesystem>
#include <functional>
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

// Reads the members of a JSON object that a person wrote: every member must be asked for by name, else
// Finish() says that it is unknown. All throw Error (kBadInput) with the file, the line where the key stands
// (when it stands there only once), and the path ("experiments[1].runs").
class JsonFields {
 public:
  struct Source {
    const std::string& text;
    std::filesystem::path file;
  };
  JsonFields(const nlohmann::json& object, const Source& source, std::string path);

  // Absent: the member is not there (or null).
  const nlohmann::json* Find(const std::string& key);
  std::optional<std::string> Text(const std::string& key);
  std::optional<double> Number(const std::string& key, double low, double high);
  std::optional<int> Integer(const std::string& key, int low, int high);
  std::optional<bool> Truth(const std::string& key);
  // One integer, or a list of them, as the profiling kit writes threads.
  std::optional<std::vector<int>> Integers(const std::string& key, int low, int high);
  // One text (`split`: taken apart at blanks, quotes respected), or a list of them.
  std::optional<std::vector<std::string>> Texts(const std::string& key, bool split);

  // Throws for members that nobody asked for. Those that begin with "_" and "description" or "comment" are
  // free.
  void Finish();

  Error Wrong(const std::string& key, const std::string& problem) const;
  // What `check` throws, said of the key, after `before`.
  void Within(const std::string& key, const std::string& before, const std::function<void()>& check) const;
  std::string Path(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }

 private:
  // `what`: the value has to be that, as `is` tells.
  template <typename T>
  std::optional<T> Take(const std::string& key, bool (nlohmann::json::*is)() const noexcept,
                        const char* what);

  const nlohmann::json& object_;
  const Source& source_;
  std::string path_;
  std::set<std::string> known_;
};

// The file as JSON, which may have comments. Throws Error (kBadInput) with the line for what is none, and
// what is larger or nests deeper than any person's file; `remedy` is what to do then.
nlohmann::json ParseConfigText(const JsonFields::Source& source, const char* remedy);

// Reads the keys that a struct describes. What is not there, or null, stays as it was. Of a kRaw only the
// type is looked at.
template <typename T>
class ReadKeys {
 public:
  ReadKeys(JsonFields& fields, T& keys) : fields_(fields), keys_(keys) { T::Describe(*this); }

  template <typename M, typename Owner>
  void operator()(const char* key, M Owner::*member, const About& about = {}) {
    Read(key, keys_.*member, about);
  }
  template <typename Raw>
  void operator()(const char* key, const Raw& raw, const About& about = {}) {
    typename decltype(raw(keys_))::Form read{};
    Read(key, read, about);
  }

 private:
  static void Take(auto&& found, auto& value) {
    if (found) value = static_cast<std::decay_t<decltype(value)>>(*std::move(found));
  }
  template <typename M>
  void Read(const char* key, std::optional<M>& value, const About& about) {
    if (fields_.Find(key) != nullptr) Read(key, value.emplace(), about);
  }
  template <typename M>
  void Read(const char* key, M& value, const About& about) {
    const auto bound = [](const std::optional<double>& of) { return static_cast<int>(of.value()); };
    if constexpr (std::is_same_v<M, bool>) {
      Take(fields_.Truth(key), value);
    } else if constexpr (std::is_floating_point_v<M>) {
      Take(fields_.Number(key, about.least.value(), about.most.value()), value);
    } else if constexpr (std::is_integral_v<M>) {
      Take(fields_.Integer(key, bound(about.least), bound(about.most)), value);
    } else if constexpr (std::is_same_v<M, std::vector<int>>) {
      Take(fields_.Integers(key, bound(about.least), bound(about.most)), value);
    } else if constexpr (std::is_same_v<M, std::vector<std::string>>) {
      Take(fields_.Texts(key, about.words), value);
    } else if constexpr (std::is_same_v<M, std::string> || std::is_same_v<M, std::filesystem::path>) {
      Take(fields_.Text(key), value);
    } else {
      fields_.Find(key);  // of a form that the reader looks at
    }
  }

  JsonFields& fields_;
  T& keys_;
};

}  // namespace etprof
