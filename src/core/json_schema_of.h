#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/describe.h"
#include "core/json_members.h"

// JSON Schemas (json-schema.org, draft 2020-12) of described values.
namespace etprof {
namespace describe {

using Schema = nlohmann::ordered_json;

Schema TextSchema(const About& about);
Schema NumberSchema(const char* type, std::optional<double> least, const About& about);
// What `schema` says, or null.
Schema OrNull(Schema schema);

// Makes the schema of a struct; those of structs with a name go into `definitions`.
class SchemaMaker {
 public:
  explicit SchemaMaker(Schema& definitions) : definitions_(definitions) {}

  template <typename T>
  Schema Object() {
    Schema schema = Empty();
    Into<T> into{*this, schema};
    T::Describe(into);
    return schema;
  }

 private:
  template <typename T>
  struct Into {
    SchemaMaker& maker;
    Schema& schema;

    void operator()(const char* key, const auto& member, const About& about = {}) {
      Put<std::decay_t<decltype(std::invoke(member, std::declval<const T&>()))>>(key, about);
    }
    void Converted(const char* key, const auto& get, const auto&, const About& about = {}) {
      Put<std::decay_t<decltype(std::invoke(get, std::declval<const T&>()))>>(key, about);
    }
    void Flat(const auto& member) {
      using U = std::decay_t<decltype(std::invoke(member, std::declval<const T&>()))>;
      Into<U> into{maker, schema};
      U::Describe(into);
    }
    void Object(const char* key, const auto& describe, const About& about = {}) {
      Schema nested = Empty();
      Into into{maker, nested};
      describe(into);
      Add(key, std::move(nested), about);
    }
    void Constant(const char* key, const auto& constant, const About& about = {}) {
      Add(key, {{"const", constant}}, about);
    }

    template <typename U>
    void Put(const char* key, const About& about) {
      if constexpr (IsOptional<U>::value) {
        Schema value = maker.Value<typename U::value_type>(about);
        Add(key, about.if_any ? std::move(value) : OrNull(std::move(value)), about);
      } else {
        Add(key, maker.Value<U>(about), about);
      }
    }
    void Add(const char* key, Schema value, const About& about) {
      if (!about.meaning.empty()) value["description"] = about.meaning;
      schema["properties"][key] = std::move(value);
      if (!about.if_any) schema["required"].push_back(key);
      if (!about.with.empty()) schema["dependentRequired"][key] = Schema::array({about.with});
    }
  };

  static Schema Empty() {
    return {{"type", "object"},
            {"additionalProperties", false},
            {"required", Schema::array()},
            {"properties", Schema::object()}};
  }

  template <typename U>
  Schema Value(const About& about) {
    if constexpr (IsOptional<U>::value) {
      return OrNull(Value<typename U::value_type>(about));
    } else if constexpr (IsVector<U>::value) {
      Schema list = {{"type", "array"}, {"items", Value<typename U::value_type>(about)}};
      if (about.some) list["minItems"] = 1;
      return list;
    } else if constexpr (IsMap<U>::value) {
      return {{"type", "object"}, {"additionalProperties", Value<typename U::mapped_type>(about)}};
    } else if constexpr (Described<U>) {
      if constexpr (requires { U::kSchemaName; }) {
        if (!definitions_.contains(U::kSchemaName)) {
          definitions_[U::kSchemaName] = nullptr;  // its place is before those that it refers to
          Schema schema = Object<U>();
          definitions_[U::kSchemaName] = std::move(schema);
        }
        return {{"$ref", std::string("#/$defs/") + U::kSchemaName}};
      } else {
        return Object<U>();
      }
    } else if constexpr (Named<U>) {
      if (!about.choices.empty()) return TextSchema(about);
      Schema names = Schema::array();
      for (const auto& [value, name] : kNames<U>) names.push_back(name);
      return {{"enum", std::move(names)}};
    } else if constexpr (kIsText<U> || kIsPath<U>) {
      return TextSchema(about);
    } else if constexpr (std::is_same_v<U, bool>) {
      return {{"type", "boolean"}};
    } else if constexpr (std::is_floating_point_v<U>) {
      Schema number = NumberSchema("number", about.least, about);
      return about.or_null ? OrNull(std::move(number)) : number;
    } else {
      return NumberSchema("integer", about.least.value_or(0), about);
    }
  }

  Schema& definitions_;
};

}  // namespace describe

// The schema of a file that holds a T.
template <Described T>
nlohmann::ordered_json SchemaOf(std::string_view title, std::string_view description) {
  nlohmann::ordered_json definitions = nlohmann::ordered_json::object();
  nlohmann::ordered_json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                                   {"title", title},
                                   {"description", description}};
  schema.update(describe::SchemaMaker(definitions).Object<T>());
  if (!definitions.empty()) schema["$defs"] = std::move(definitions);
  return schema;
}

// JSON for people to read: what fits on a line stands on one.
std::string WrappedJson(const nlohmann::ordered_json& value);

}  // namespace etprof
