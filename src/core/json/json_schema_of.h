#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "core/json/describe.h"
#include "core/json/json_members.h"

// JSON Schemas (json-schema.org, draft 2020-12) for described structs.
namespace etprof {
namespace describe {

using Schema = nlohmann::ordered_json;

Schema TextSchema(const MemberInfo& info);
Schema NumberSchema(const char* type, std::optional<double> min, const MemberInfo& info);
// The schema with null as an additional allowed value.
Schema OrNull(Schema schema);

// Adds the default of an optional key, if the member's initial value is a valid value of the key.
template <typename M>
void AddDefault(Schema& schema, const M& value, const MemberInfo& info) {
  if constexpr (kIsInstanceOf<std::vector, M>) {
    if (value.size() == 1) AddDefault(schema, value.front(), info);
  } else if constexpr (std::is_arithmetic_v<M>) {
    if (static_cast<double>(value) >= info.min.value_or(kNoMinimum)) schema["default"] = value;
  } else if constexpr (kIsText<M>) {
    if (!std::string_view(value).empty()) schema["default"] = value;
  }
}

Schema Reference(const char* definition);
// The empty schema of a struct.
Schema EmptyObject();
void AddMember(Schema& object, const char* key, Schema value, const MemberInfo& info);
// Adds the members of `part` to `object`. They are present together or not at all (info.or_null: all null).
void AddAllOrNone(Schema& object, const Schema& part, const MemberInfo& info);

// Generates the schema of a struct. Schemas of structs with a kSchemaName go into `definitions`.
class SchemaMaker {
 public:
  explicit SchemaMaker(Schema& definitions) : definitions_(definitions) {}

  template <typename T>
  Schema Object() {
    Schema schema = EmptyObject();
    if constexpr (requires { T::kAllowsComments; })
      schema["patternProperties"] = {{"^_", true}, {"^(description|comment)$", true}};
    MemberWriter<T> member_writer{*this, schema};
    T::Describe(member_writer);
    return schema;
  }

 private:
  template <typename T>
  struct MemberWriter {
    SchemaMaker& maker;
    Schema& schema;

    void operator()(const char* key, const auto& member, const MemberInfo& info = {}) {
      Put<std::decay_t<decltype(MemberValue(member, std::declval<const T&>()))>>(key, info);
      if constexpr (requires { T::kAllowsComments; } &&
                    std::is_member_object_pointer_v<std::decay_t<decltype(member)>>) {
        if (info.omit_if_empty) AddDefault(schema["properties"][key], T{}.*member, info);
      }
    }
    void Converted(const char* key, const auto& get, const auto&, const MemberInfo& info = {}) {
      Put<std::decay_t<decltype(MemberValue(get, std::declval<const T&>()))>>(key, info);
    }
    void Flat(const auto& member, const MemberInfo& info = {}) {
      using U = std::decay_t<decltype(MemberValue(member, std::declval<const T&>()))>;
      if constexpr (IsOptional<U>::value) {
        AddAllOrNone(schema, maker.Object<typename IsOptional<U>::Value>(), info);
      } else {
        MemberWriter<U> member_writer{maker, schema};
        U::Describe(member_writer);
      }
    }
    void Object(const char* key, const auto& describe, const MemberInfo& info = {}) {
      Schema nested = EmptyObject();
      MemberWriter member_writer{maker, nested};
      describe(member_writer);
      AddMember(schema, key, std::move(nested), info);
    }
    void Constant(const char* key, const auto& constant, const MemberInfo& info = {}) {
      AddMember(schema, key, {{"const", constant}}, info);
    }

    template <typename U>
    void Put(const char* key, const MemberInfo& info) {
      if constexpr (IsOptional<U>::value) {
        Schema value = maker.Value<typename IsOptional<U>::Value>(info);
        // In a file that users write, a key can be left out instead of null.
        const bool may_be_null = !info.omit_if_empty || info.or_null;
        AddMember(schema, key, may_be_null ? OrNull(std::move(value)) : std::move(value), info);
      } else {
        Schema value = maker.Value<U>(info);
        AddMember(schema, key, info.or_null ? OrNull(std::move(value)) : std::move(value), info);
      }
    }
  };

  template <typename U>
  Schema Value(const MemberInfo& info) {
    if constexpr (IsOptional<U>::value) {
      return OrNull(Value<typename IsOptional<U>::Value>(info));
    } else if constexpr (IsNamedValueList<U>::value) {
      using Element = typename U::value_type::second_type;
      return {{"type", "object"}, {"additionalProperties", Value<Element>(info)}};
    } else if constexpr (IsArray<U>::value) {
      constexpr std::size_t kSize = std::tuple_size_v<U>;
      return {{"type", "array"},
              {"items", Value<typename U::value_type>(info)},
              {"minItems", kSize},
              {"maxItems", kSize}};
    } else if constexpr (kIsInstanceOf<std::vector, U>) {
      Schema list = {{"type", "array"}, {"items", Value<typename U::value_type>(ElementInfo(info))}};
      if (info.non_empty) list["minItems"] = 1;
      if (info.unique) list["uniqueItems"] = true;
      if (!info.or_single) return list;
      return {{"anyOf", {Value<typename U::value_type>(ElementInfo(info)), std::move(list)}}};
    } else if constexpr (kIsInstanceOf<std::map, U>) {
      MemberInfo element_info = ElementInfo(info);
      element_info.pattern = {};
      Schema map = {{"type", "object"},
                    {"additionalProperties", Value<typename U::mapped_type>(element_info)}};
      if (!info.pattern.empty()) map["propertyNames"] = {{"pattern", info.pattern}};
      return map;
    } else if constexpr (requires { typename U::Form; }) {
      return Value<typename U::Form>(info);
    } else if constexpr (kIsInstanceOf<std::variant, U>) {
      Schema any = Schema::array();
      [&]<typename... Alternatives>(std::type_identity<std::variant<Alternatives...>>) {
        (any.push_back(
             Value<Alternatives>(kIsInstanceOf<std::vector, Alternatives> ? info : ElementInfo(info))),
         ...);
      }(std::type_identity<U>());
      return {{"anyOf", std::move(any)}};
    } else if constexpr (Described<U>) {
      if constexpr (requires { U::kSchemaName; }) {
        if (!definitions_.contains(U::kSchemaName)) {
          // Reserve a position before those of the definitions that this one refers to.
          definitions_[U::kSchemaName] = nullptr;
          Schema schema = Object<U>();
          definitions_[U::kSchemaName] = std::move(schema);
        }
        return Reference(U::kSchemaName);
      } else {
        return Object<U>();
      }
    } else if constexpr (NamedEnum<U>) {
      if (!info.choices.empty()) return TextSchema(info);
      return {{"enum", kNames<U>}};
    } else if constexpr (kIsText<U> || kIsPath<U>) {
      return TextSchema(info);
    } else if constexpr (std::is_same_v<U, bool>) {
      return {{"type", "boolean"}};
    } else if constexpr (std::is_floating_point_v<U>) {
      Schema number = NumberSchema("number", info.min, info);
      return info.or_null ? OrNull(std::move(number)) : number;
    } else {
      if (info.scale != 1) return NumberSchema("number", info.min, info);
      return NumberSchema("integer", info.min.value_or(0), info);
    }
  }

  Schema& definitions_;
};

}  // namespace describe

// The schema of a file that contains a T.
template <Described T>
nlohmann::ordered_json MakeSchema(std::string_view title, std::string_view description) {
  nlohmann::ordered_json definitions = nlohmann::ordered_json::object();
  nlohmann::ordered_json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                                   {"title", title},
                                   {"description", description}};
  schema.update(describe::SchemaMaker(definitions).Object<T>());
  if (!definitions.empty()) schema["$defs"] = std::move(definitions);
  return schema;
}

// Formats JSON for reading: a list or object that fits on a line is on one line.
std::string WrapJson(const nlohmann::ordered_json& value);

}  // namespace etprof
