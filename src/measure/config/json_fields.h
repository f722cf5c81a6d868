#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/error.h"
#include "measure/config/config_keys.h"

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
  // One integer, or a list of them, as the seeds write threads.
  std::optional<std::vector<int>> Integers(const std::string& key, int low, int high);
  // One text (`split`: taken apart at blanks, quotes respected), or a list of them.
  std::optional<std::vector<std::string>> Texts(const std::string& key, bool split);

  // Throws for members that nobody asked for. Those that begin with "_" and "description" or "comment" are
  // free.
  void Finish();

  Error Wrong(const std::string& key, const std::string& problem) const;
  std::string Path(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }

 private:
  const nlohmann::json& object_;
  const Source& source_;
  std::string path_;
  std::set<std::string> known_;
};

// The file as JSON, which may have comments. Throws Error (kBadInput) with the line for what is none, and
// what is larger or nests deeper than any person's file; `remedy` is what to do then.
nlohmann::json ParseConfigText(const JsonFields::Source& source, const char* remedy);

// Reads the keys that a struct of config_keys.h describes.
template <typename T>
class ReadKeys {
 public:
  ReadKeys(JsonFields& fields, T& keys) : fields_(fields), keys_(keys) { T::Describe(*this); }

  template <typename M>
  void operator()(const char* key, M T::*member, const About& about = {}) {
    Read(key, keys_.*member, about);
  }
  template <typename M>
  void Flat(M T::*member) {
    ReadKeys<M>(fields_, keys_.*member);
  }

 private:
  void Read(const char* key, std::optional<std::string>& value, const About&) { value = fields_.Text(key); }
  // One that must be there: what takes it says what is wrong with an empty one.
  void Read(const char* key, std::string& value, const About&) { value = fields_.Text(key).value_or(""); }
  void Read(const char* key, std::optional<bool>& value, const About&) { value = fields_.Truth(key); }
  void Read(const char* key, std::optional<double>& value, const About& about) {
    value = fields_.Number(key, about.least.value(), about.most.value());
  }
  void Read(const char* key, std::optional<int>& value, const About& about) {
    value = fields_.Integer(key, Bound(about.least), Bound(about.most));
  }
  void Read(const char* key, std::optional<OneOrMany<int>>& value, const About& about) {
    if (auto read = fields_.Integers(key, Bound(about.least), Bound(about.most))) value = {std::move(*read)};
  }
  void Read(const char* key, std::optional<OneOrMany<std::string>>& value, const About&) {
    if (auto read = fields_.Texts(key, false)) value = {std::move(*read)};
  }
  void Read(const char* key, std::optional<WordsOfCommand>& value, const About&) {
    if (auto read = fields_.Texts(key, true)) value = WordsOfCommand{{std::move(*read)}};
  }
  template <typename Form>
  void Read(const char* key, Raw<Form>& value, const About&) {
    value.found = fields_.Find(key);
  }
  static int Bound(const std::optional<double>& bound) { return static_cast<int>(bound.value()); }

  JsonFields& fields_;
  T& keys_;
};

// Words of a command line: blanks separate, '...' and "..." keep them together.
std::vector<std::string> SplitCommandLine(const std::string& text);

}  // namespace etprof
