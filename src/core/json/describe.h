#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

// A struct describes its members once, in `Describe`. JSON writers and readers (core/json/json_members.h),
// CSV (core/text/csv_members.h), JSON Schemas, and the tables of the documentation
// (core/json/json_schema_of.h) are derived from that description:
//
//   struct Clocks {
//     std::int64_t monotonic_ns = 0;
//     std::int64_t realtime_ns = 0;
//
//     static void Describe(auto& v) {
//       v("monotonic_ns", &Clocks::monotonic_ns);
//       v("realtime_ns", &Clocks::realtime_ns, {.meaning = "since 1970", .min = kNoMinimum});
//     }
//   };
//
// A visitor `v` offers these calls:
//   v(key, member [, MemberInfo])
//       a member: a pointer to a member, or a function of the object. A function that returns a mutable
//       reference can be read and written, any other is only written. A view with a member `source` also
//       offers the members of `source`. Written values may also use the objects that enclose them, found by
//       their types: by a pointer to a member of an enclosing object, or as arguments of a lambda or method,
//       such as
//       `[](const Row& row, const Table& table) { return row.time / table.time; }`
//   v.Converted(key, get, set [, MemberInfo])
//       a member in another form: `get(object)` is written, and `set(object, value)` takes the value that was
//       read; `set` throws std::invalid_argument with the problem
//   v.Flat(member [, MemberInfo])
//       the members of a member struct, as if they were the object's own. An empty std::optional writes no
//       keys, or with or_null all keys as null (write only)
//   v.Object(key, describe [, MemberInfo])
//       a nested JSON object with members of this object: `describe` takes a visitor
//   v.Constant(key, value [, MemberInfo])
//
// A struct whose members depend on each other has `static void Check(const T&)`. It is called after reading
// and throws std::invalid_argument. A struct that is useless if a key is missing has `static constexpr bool
// kRequiresAllKeys = true`: every key must be present and valid, for tolerant readers, too.
//
// Types: bool, integers, double, std::string, std::filesystem::path, enumerations with names (kNames),
// described structs, and std::optional, std::variant (only for schemas), std::vector, std::array and
// std::map<std::string, ...> of these. An empty std::optional is null. A null pointer to a struct or a text
// is also null (write only). A type with another form in files declares it: `using Form = ...`.
//
// A struct that is used in several places has a name for its schema: `static constexpr const char*
// kSchemaName = "tensor"`. A struct in which users may add "description", "comment", and keys that begin with
// "_" has `static constexpr bool kAllowsComments = true`.
namespace etprof {

inline constexpr double kNoMinimum = -std::numeric_limits<double>::infinity();

// Properties of a member that its name and type do not tell. For a list or map, `min` to `choices` apply to
// its elements.
struct MemberInfo {
  std::string_view meaning = {};       // phrase for documents; names the unit unless the key does
  std::optional<double> min = {};      // minimum; absent: 0 for integers, unlimited for other numbers
  std::optional<double> max = {};      // maximum; absent: unlimited
  bool exclusive = false;              // a floating-point number must lie strictly between `min` and `max`
  std::string_view choices = {};       // allowed texts, separated by '|'; empty: all
  std::string_view pattern = {};       // regular expression (ECMAScript) for a text, or for the keys of a map
  double scale = 1;                    // a number is divided by this when it is written (write only)
  bool or_null = false;                // an empty text or a number that is not finite is null
  bool omit_if_empty = false;          // the key is left out if the text, list, or optional is empty
  std::string_view present_with = {};  // with omit_if_empty: another key that is present in the same cases
  bool non_empty = false;              // a text or list is never empty
  bool unique = false;                 // a list has no duplicates
  bool or_single = false;              // a list with one element may be written as that element
  bool split_words = false;            // with `or_single`: a text is split at blanks, like a command line
  bool json = false;      // a text that contains a JSON object and is written as that object; empty: null
  bool relative = false;  // a path within the folder of the file is written relative to that folder
  std::string_view value = {};  // name of an option's value in --help, for example "DIR"
  bool percent = false;         // the command-line option is a percentage: 0.02 is "2%"

  // A copy with another meaning, for descriptions that many members share (kMs).
  constexpr MemberInfo WithMeaning(std::string_view text) const {
    MemberInfo info = *this;
    info.meaning = text;
    return info;
  }
};

inline constexpr MemberInfo kMs{.scale = 1e6};                       // nanoseconds, written as milliseconds
inline constexpr MemberInfo kNonNegativeMs{.min = 0, .scale = 1e6};  // nanoseconds that cannot be negative
inline constexpr MemberInfo kShareOfWhole{.min = 0, .max = 1};

// Describes the version of a file's or an output's schema.
void DescribeSchemaVersion(auto& v, int version = 1) {
  v.Constant("schema_version", version, {.meaning = "keys may be added under the same number"});
}

inline constexpr std::string_view kSha256Pattern = "^[0-9a-f]{64}$";

template <typename E>
using NamedValue = std::pair<E, const char*>;
// Names of an enumeration's values from 0 on, in files and in messages: `template <> inline constexpr const
// char* kNames<E>[] = {...}`. A value without a name is never written.
template <typename E>
inline constexpr auto kNames = nullptr;

template <typename E>
concept NamedEnum = std::is_enum_v<E> && std::is_array_v<decltype(kNames<E>)>;

// The name of `value` in the table; empty if it has none.
template <typename E, std::size_t N>
constexpr const char* FindName(const NamedValue<E> (&names)[N], E value) {
  for (const auto& [enumerator, name] : names) {
    if (enumerator == value) return name;
  }
  return "";
}

template <NamedEnum E>
constexpr const char* GetName(E value) {
  const auto index = static_cast<std::size_t>(value);
  return index < std::size(kNames<E>) ? kNames<E>[index] : "";
}

template <NamedEnum E>
constexpr auto AllValues() {
  std::array<E, std::size(kNames<E>)> values{};
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<E>(i);
  return values;
}

template <NamedEnum E>
constexpr std::optional<E> ParseEnum(std::string_view text) {
  const auto* const found = std::ranges::find(kNames<E>, text);
  return found != std::end(kNames<E>) ? std::optional(static_cast<E>(found - kNames<E>)) : std::nullopt;
}

// Accepts every member and does nothing.
struct NullVisitor {
  void operator()(auto&&...) {}
};

template <typename T>
concept Described = std::is_class_v<T> && requires(NullVisitor& v) { T::Describe(v); };

}  // namespace etprof
