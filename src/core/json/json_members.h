#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <variant>
#include <vector>

#include "core/json/describe.h"
#include "core/json/json.h"

// JSON for described structs (core/json/describe.h). This header also makes nlohmann-json convert them
// (`json(value)`, `json.get<T>()`).
namespace etprof {

enum class ReadMode {
  kMissingKeepsDefault,  // for messages of a peer of another version: missing keys keep their defaults,
                         // unknown keys are ignored, and an invalid value throws
  kAllKeysRequired,      // every key must be present
  kTolerant,             // missing, null, and invalid values keep their defaults; invalid values are counted
};

namespace describe {

template <typename T>
struct IsOptional : std::false_type {};
template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {
  using Value = T;
};
template <typename T>
  requires std::is_class_v<T>
struct IsOptional<const T*> : std::true_type {  // write only
  using Value = T;
};
// True if T is an instance of a class template: kIsInstanceOf<std::vector, T>.
template <template <typename...> class Template, typename T>
inline constexpr bool kIsInstanceOf = false;
template <template <typename...> class Template, typename... Arguments>
inline constexpr bool kIsInstanceOf<Template, Template<Arguments...>> = true;

template <typename T>
struct IsArray : std::false_type {};
template <typename T, std::size_t N>
struct IsArray<std::array<T, N>> : std::true_type {};
// Named values in a fixed order, which are written as a JSON object (write only).
template <typename T>
struct IsNamedValueList : std::false_type {};
template <typename T>
struct IsNamedValueList<std::vector<std::pair<std::string, T>>> : std::true_type {};

// The objects that enclose the value that is written: a list, from the innermost one outward.
struct Enclosing {
  const std::type_info* type;
  const void* object;
  const Enclosing* outer;

  template <typename T>
  static const T& Find(const Enclosing* enclosing) {
    while (enclosing != nullptr && *enclosing->type != typeid(T)) enclosing = enclosing->outer;
    if (enclosing == nullptr) throw std::logic_error(std::string("nothing encloses it: ") + typeid(T).name());
    return *static_cast<const T*>(enclosing->object);
  }
  template <typename T, typename Member>
  static const T& FindOwner(Member T::*, const Enclosing* enclosing) {
    return Find<T>(enclosing);
  }
};

// Calls a method of `value`, or a lambda, with `value` and enclosing objects.
template <typename R, typename T, typename... Outer>
R CallWithin(R (T::*method)(const Outer&...) const, const std::type_identity_t<T>& value,
             const Enclosing* enclosing) {
  return (value.*method)(Enclosing::Find<Outer>(enclosing)...);
}
template <typename R, typename Function, typename T, typename... Outer>
R CallWithin(R (Function::*)(const T&, const Outer&...) const, const Function& function, const auto& value,
             const Enclosing* enclosing) {
  if constexpr (std::is_convertible_v<decltype(value), const T&>) {
    return function(value, Enclosing::Find<Outer>(enclosing)...);
  } else {
    return function(Enclosing::Find<T>(enclosing), Enclosing::Find<Outer>(enclosing)...);
  }
}

// Reads the value that a described member refers to. (std::invoke would instantiate several functions for
// every member of every struct.)
template <typename Member, typename T>
constexpr decltype(auto) MemberValue(const Member& member, T& value, const Enclosing* enclosing = nullptr) {
  if constexpr (requires { value.*member; }) {
    return (value.*member);
  } else if constexpr (requires { (value.*member)(); }) {
    return (value.*member)();
  } else if constexpr (requires { CallWithin(member, value, enclosing); }) {
    return CallWithin(member, value, enclosing);
  } else if constexpr (requires { value.source.*member; } || requires { (value.source.*member)(); }) {
    return MemberValue(member, value.source);
  } else if constexpr (std::is_member_pointer_v<Member>) {
    return MemberValue(member, Enclosing::FindOwner(member, enclosing), enclosing);
  } else if constexpr (requires { member(value); }) {
    return member(value);
  } else {
    return CallWithin(&Member::operator(), member, value, enclosing);
  }
}

template <typename T>
inline constexpr bool kIsText =
    std::is_convertible_v<T, std::string_view> && !std::is_same_v<T, std::filesystem::path>;
template <typename T>
inline constexpr bool kIsPath = std::is_same_v<T, std::filesystem::path>;

// The text of a path, relative to `folder` if the path is within that folder.
std::string PathText(const std::filesystem::path& path, const std::filesystem::path& folder);
std::filesystem::path ParsePath(const std::string& text, const std::filesystem::path& folder);

[[noreturn]] void ThrowInvalid(const char* key, const std::string& problem);
// These throw unless the value is finite and within the bounds of `info`, or is a text that `info` allows.
void RequireNumber(double number, const char* key, const MemberInfo& info);
void RequireText(const std::string& text, const char* key, const MemberInfo& info);
// `lowest` and `highest` are the limits of the integer type.
std::int64_t ReadInteger(const nlohmann::json& value, const char* key, const MemberInfo& info,
                         std::int64_t lowest, std::int64_t highest);
std::uint64_t ReadUnsigned(const nlohmann::json& value, const char* key, const MemberInfo& info,
                           std::uint64_t highest);
double ReadNumber(const nlohmann::json& value, const char* key, const MemberInfo& info);
std::string ReadText(const nlohmann::json& value, const char* key, const MemberInfo& info);
bool ReadFlag(const nlohmann::json& value, const char* key);
void RequireObject(const nlohmann::json& value);
// Throws unless `value` is an array. Also throws if the array is empty or has duplicates although `info`
// forbids that.
void RequireList(const nlohmann::json& value, const char* key, const MemberInfo& info);
// Returns whether the regular expression (ECMAScript) matches a part of the text. False for a text of more
// than 1,000 bytes.
bool MatchesPattern(const std::string& text, std::string_view pattern);

// The properties of an element of a list or map.
constexpr MemberInfo ElementInfo(MemberInfo info) {
  info.non_empty = false;
  info.unique = false;
  info.or_null = false;
  return info;
}

// Writes described structs. Paths with `relative` are written relative to `folder`.
template <typename Json>
class Writer {
 public:
  explicit Writer(std::filesystem::path folder) : folder_(std::move(folder)) {}

  template <typename T>
  Json Object(const T& value) {
    Json object = Json::object();
    AddMembers(value, object);
    return object;
  }

 private:
  struct NullWriter {
    Json& object;
    void operator()(const char* key, const auto&, const MemberInfo& = {}) { object[key] = nullptr; }
    void Object(const char* key, const auto&, const MemberInfo& = {}) { object[key] = nullptr; }
  };

  // Adds the members of `value` to `object`. Members that take an enclosing object find `value` and
  // `value.source`.
  template <typename T>
  void AddMembers(const T& value, Json& object) {
    const Enclosing* const outer = enclosing_;
    const Enclosing self{&typeid(T), &value, outer};
    Enclosing inner = self;
    if constexpr (requires { value.source; }) inner = {&typeid(value.source), &value.source, &self};
    enclosing_ = &inner;
    MemberWriter<T> member_writer{*this, value, object};
    T::Describe(member_writer);
    enclosing_ = outer;
  }

  template <typename T>
  struct MemberWriter {
    Writer& writer;
    const T& value;
    Json& object;

    void operator()(const char* key, const auto& member, const MemberInfo& info = {}) {
      Put(key, MemberValue(member, value, writer.enclosing_), info);
    }
    void Converted(const char* key, const auto& get, const auto&, const MemberInfo& info = {}) {
      Put(key, MemberValue(get, value, writer.enclosing_), info);
    }
    void Flat(const auto& member, const MemberInfo& info = {}) {
      decltype(auto) nested = MemberValue(member, value, writer.enclosing_);
      using U = std::decay_t<decltype(nested)>;
      if constexpr (IsOptional<U>::value) {
        if (nested) {
          writer.AddMembers(*nested, object);
        } else if (info.or_null) {
          NullWriter nulls{object};
          IsOptional<U>::Value::Describe(nulls);
        }
      } else {
        writer.AddMembers(nested, object);
      }
    }
    void Object(const char* key, const auto& describe, const MemberInfo& = {}) {
      Json nested = Json::object();
      MemberWriter member_writer{writer, value, nested};
      describe(member_writer);
      object[key] = std::move(nested);
    }
    void Constant(const char* key, const auto& constant, const MemberInfo& = {}) { object[key] = constant; }

    template <typename U>
    void Put(const char* key, const U& member, const MemberInfo& info) {
      if constexpr (requires { member.written; }) {
        Put(key, member.written, info);
      } else if constexpr (requires { std::visit([](const auto&) {}, member); }) {
        std::visit([&](const auto& alternative) { Put(key, alternative, info); }, member);
      } else if constexpr (!std::is_same_v<U, std::monostate>) {  // std::monostate writes nothing
        if constexpr (requires { member.empty(); }) {
          if (info.omit_if_empty && member.empty()) return;
        } else if constexpr (IsOptional<U>::value) {
          if (info.omit_if_empty && !member) return;
        }
        object[key] = writer.Value(member, info);
      }
    }
  };

  template <typename U>
  Json Value(const U& value, const MemberInfo& info) {
    if constexpr (IsOptional<U>::value) {
      return value ? Value(*value, info) : Json(nullptr);
    } else if constexpr (IsNamedValueList<U>::value || kIsInstanceOf<std::map, U>) {
      Json object = Json::object();
      for (const auto& [key, element] : value) object[key] = Value(element, info);
      return object;
    } else if constexpr (kIsInstanceOf<std::vector, U> || IsArray<U>::value) {
      Json list = Json::array();
      for (const auto& element : value) list.push_back(Value(element, info));
      return list;
    } else if constexpr (Described<U>) {
      return Object(value);
    } else if constexpr (NamedEnum<U>) {
      return std::string(GetName(value));
    } else if constexpr (kIsPath<U>) {
      return Value(PathText(value, info.relative ? folder_ : std::filesystem::path()), info);
    } else if constexpr (kIsText<U>) {
      const std::string_view text = value;
      if (info.json) {
        Json object = Json::parse(text, nullptr, false);
        return object.is_object() ? object : Json(nullptr);
      }
      return info.or_null && text.empty() ? Json(nullptr) : Json(std::string(text));
    } else if constexpr (std::is_floating_point_v<U>) {
      return std::isfinite(value) ? Json(value / static_cast<U>(info.scale)) : Json(nullptr);
    } else {
      if (info.scale != 1) return static_cast<double>(value) / info.scale;
      return value;
    }
  }

  std::filesystem::path folder_;
  const Enclosing* enclosing_ = nullptr;
};

class Reader {
 public:
  Reader(ReadMode mode, std::filesystem::path folder) : mode_(mode), folder_(std::move(folder)) {}

  std::int64_t invalid_values() const { return invalid_values_; }

  template <typename T>
  void Object(const nlohmann::json& json, T& value) {
    RequireObject(json);
    MemberReader<T> member_reader{*this, json, value};
    T::Describe(member_reader);
    if constexpr (requires { T::Check(value); }) T::Check(value);
  }

 private:
  template <typename T>
  struct MemberReader {
    Reader& reader;
    const nlohmann::json& json;
    T& value;

    void operator()(const char* key, const auto& member, const MemberInfo& info = {}) {
      using Member = decltype(MemberValue(member, value));
      if constexpr (std::is_lvalue_reference_v<Member> && !std::is_const_v<std::remove_reference_t<Member>>) {
        reader.ReadKey(json, key, info, [&](const nlohmann::json& found) {
          reader.Value(found, MemberValue(member, value), key, info);
        });
      }
    }
    void Converted(const char* key, const auto& get, const auto& set, const MemberInfo& info = {}) {
      reader.ReadKey(json, key, info, [&](const nlohmann::json& found) {
        std::decay_t<decltype(MemberValue(get, value))> read{};
        reader.Value(found, read, key, info);
        set(value, std::move(read));
      });
    }
    void Flat(const auto& member, const MemberInfo& = {}) {
      using Member = decltype(MemberValue(member, value));
      if constexpr (std::is_lvalue_reference_v<Member>) {
        using U = std::remove_reference_t<Member>;
        MemberReader<U> member_reader{reader, json, MemberValue(member, value)};
        U::Describe(member_reader);
      }
    }
    void Object(const char* key, const auto& describe, const MemberInfo& info = {}) {
      reader.ReadKey(json, key, info, [&](const nlohmann::json& found) {
        RequireObject(found);
        MemberReader member_reader{reader, found, value};
        describe(member_reader);
      });
    }
    void Constant(const char* key, const auto& constant, const MemberInfo& info = {}) {
      if (reader.mode_ != ReadMode::kAllKeysRequired) return;
      reader.ReadKey(json, key, info, [&](const nlohmann::json& found) {
        if (found != nlohmann::json(constant)) ThrowInvalid(key, "has a value that is not known");
      });
    }
  };

  template <typename Read>
  void ReadKey(const nlohmann::json& json, const char* key, const MemberInfo& info, const Read& read) {
    ReadKeyImpl(json, key, info, &read, [](const void* reader, const nlohmann::json& found) {
      (*static_cast<const Read*>(reader))(found);
    });
  }
  void ReadKeyImpl(const nlohmann::json& json, const char* key, const MemberInfo& info, const void* reader,
                   void (*read)(const void*, const nlohmann::json&));

  template <typename U>
  void Value(const nlohmann::json& json, U& value, const char* key, const MemberInfo& info) {
    if constexpr (IsOptional<U>::value) {
      const bool is_refused = mode_ == ReadMode::kAllKeysRequired && info.omit_if_empty && !info.or_null;
      if (json.is_null() && !is_refused) {
        value.reset();
      } else {
        typename U::value_type read{};
        Value(json, read, key, info);
        value = std::move(read);
      }
    } else if constexpr (kIsInstanceOf<std::vector, U>) {
      RequireList(json, key, info);
      U read;
      for (const nlohmann::json& element : json) {
        typename U::value_type item{};
        if (Element(element, item, key, ElementInfo(info))) read.push_back(std::move(item));
      }
      value = std::move(read);
    } else if constexpr (kIsInstanceOf<std::map, U>) {
      RequireObject(json);
      MemberInfo element_info = ElementInfo(info);
      element_info.pattern = {};
      U read;
      for (const auto& [name, element] : json.items()) {
        if (!info.pattern.empty() && !MatchesPattern(name, info.pattern))
          ThrowInvalid(key, "has a key that is not one of its kind");
        Value(element, read[name], key, element_info);
      }
      value = std::move(read);
    } else if constexpr (Described<U>) {
      U read{};
      try {
        if constexpr (requires { U::kRequiresAllKeys; }) {
          Reader(ReadMode::kAllKeysRequired, folder_).Object(json, read);
        } else {
          Object(json, read);
        }
      } catch (const std::invalid_argument& problem) {
        throw std::invalid_argument("in \"" + std::string(key) + "\": " + problem.what());
      }
      value = std::move(read);
    } else if constexpr (NamedEnum<U>) {
      const std::optional<U> named = ParseEnum<U>(ReadText(json, key, info));
      if (!named) ThrowInvalid(key, "has a value that is not known");
      value = *named;
    } else if constexpr (kIsPath<U>) {
      value = ParsePath(json.is_null() && info.or_null ? "" : ReadText(json, key, info),
                        info.relative ? folder_ : std::filesystem::path());
    } else if constexpr (kIsText<U>) {
      if (info.json) {
        if (!json.is_object() && !json.is_null()) ThrowInvalid(key, "must be an object or null");
        value = json.is_object() ? json.dump() : "";
      } else {
        // A tolerant reader keeps values that it does not know, such as those of a newer etprof or another
        // program.
        MemberInfo expected = info;
        if (mode_ == ReadMode::kTolerant) expected.choices = {};
        value = json.is_null() && info.or_null ? "" : ReadText(json, key, expected);
      }
    } else if constexpr (std::is_same_v<U, bool>) {
      value = ReadFlag(json, key);
    } else if constexpr (std::is_floating_point_v<U>) {
      value =
          json.is_null() && info.or_null ? std::numeric_limits<U>::quiet_NaN() : ReadNumber(json, key, info);
    } else if constexpr (std::is_unsigned_v<U>) {
      value = static_cast<U>(ReadUnsigned(json, key, info, std::numeric_limits<U>::max()));
    } else {
      value = static_cast<U>(
          ReadInteger(json, key, info, std::numeric_limits<U>::min(), std::numeric_limits<U>::max()));
    }
  }

  // Reads an element of a list. A tolerant reader leaves out elements that are not valid objects.
  template <typename U>
  bool Element(const nlohmann::json& json, U& value, const char* key, const MemberInfo& info) {
    if constexpr (Described<U>) {
      if (mode_ == ReadMode::kTolerant) {
        try {
          Value(json, value, key, info);
        } catch (const std::invalid_argument&) {
          ++invalid_values_;
          return false;
        }
        return true;
      }
    }
    Value(json, value, key, info);
    return true;
  }

  ReadMode mode_;
  std::filesystem::path folder_;
  std::int64_t invalid_values_ = 0;
};

}  // namespace describe

// Converts a described value to JSON. `folder` is the folder of the file to be written.
template <typename Json = nlohmann::ordered_json, Described T>
Json ToJson(const T& value, const std::filesystem::path& folder = {}) {
  return describe::Writer<Json>(folder).Object(value);
}

// Writes the JSON as a file's text. Names from other files may be invalid UTF-8, which becomes U+FFFD
// (JsonText).
template <Described T>
void WriteJson(const T& value, int indent, std::ostream& out) {
  out << JsonText(ToJson(value), indent) << '\n';
}

// Throws std::invalid_argument with the problem: "in \"inputs\": \"seed\" must be an integer".
template <Described T>
void FromJson(const nlohmann::json& json, T& value, ReadMode mode = ReadMode::kMissingKeepsDefault) {
  describe::Reader(mode, {}).Object(json, value);
}

// Reads all valid values of `json`, and returns the number of invalid values.
template <Described T>
std::int64_t ReadJsonTolerantly(const nlohmann::json& json, T& value, const std::filesystem::path& folder) {
  describe::Reader reader(ReadMode::kTolerant, folder);
  reader.Object(json, value);
  return reader.invalid_values();
}

}  // namespace etprof

template <etprof::Described T>
struct nlohmann::adl_serializer<T, void> {
  template <typename Json>
  static void to_json(Json& json, const T& value) {
    json = etprof::ToJson<Json>(value);
  }
  static void from_json(const nlohmann::json& json, T& value) {
    if constexpr (requires { T::kRequiresAllKeys; }) {
      etprof::FromJson(json, value, etprof::ReadMode::kAllKeysRequired);
    } else {
      etprof::FromJson(json, value);
    }
  }
};
