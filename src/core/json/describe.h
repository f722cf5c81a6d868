#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

// One description of a value's members, from which all that lists them is derived: what writes JSON and reads
// it (core/json/json_members.h), JSON Schemas and the tables of documents (core/json/json_schema_of.h).
//
//   struct Clocks {
//     std::int64_t monotonic_ns = 0;
//     std::int64_t realtime_ns = 0;
//
//     static void Describe(auto& v) {
//       v("monotonic_ns", &Clocks::monotonic_ns);
//       v("realtime_ns", &Clocks::realtime_ns, {.meaning = "before 1970 without a battery", .least =
//       kAnyNumber});
//     }
//   };
//
// A visitor `v` has
//   v(key, member [, About])       a member; `member` is a pointer to it, or a function of the object that
//                                  returns a reference to it, or its value: such a one is only written. A
//                                  view that has a member `of` has the members of that, too, as its own
//   v.Converted(key, get, set [, About])
//                                  a member of another form: `get` of the object is what is written, and
//                                  `set` takes the object and what was read; it throws std::invalid_argument
//                                  saying what is wrong
//   v.Flat(member [, About])       the members of a member, as if they were the object's own; of an empty
//                                  std::optional none, or with or_null all of them with null (which is only
//                                  written)
//   v.Object(key, describe [, About])
//                                  an object of members of this object: `describe` takes the visitor
//   v.Constant(key, value [, About])
//
// A struct whose members depend on each other has `static void Check(const T&)`, which throws
// std::invalid_argument after it was read. One that is read as a whole or not at all has
// `static constexpr bool kEveryKey = true`: every key must be there and right, for tolerant readers, too.
//
// Types: bool, integers, double, std::string, std::filesystem::path, enumerations with names (kNames),
// structs that are described, and std::optional, std::variant (only of schemas), std::vector, std::array and
// std::map<std::string, ...> of these. An empty std::optional is null, and so is a null pointer to a struct
// or a text, which is only written. A type with another form in files names it: `using Form = ...`.
//
// Structs in several places have a name for their schema: `static constexpr const char* kSchemaName =
// "tensor"`. Those in which people may put what they like under "description", "comment", and keys that begin
// with "_" have `static constexpr bool kFreeKeys = true`.
namespace etprof {

inline constexpr double kAnyNumber = -std::numeric_limits<double>::infinity();

// What the name and the type of a member do not tell. Of lists and maps, `least` to `choices` are of their
// elements.
struct About {
  std::string_view meaning = {};     // in half a sentence, with the unit where the key does not end in it
  std::optional<double> least = {};  // absent: 0 for integers, none for other numbers
  std::optional<double> most = {};   // absent: none
  bool open = false;                 // of a number that is no integer: it is above `least`, below `most`
  std::string_view choices = {};     // the texts that may stand there, divided by '|'; empty: any, or all
                                     // names of an enumeration
  std::string_view pattern = {};     // of a text, or of a map's keys: a regular expression (ECMAScript)
  double scale = 1;                  // of a number that is only written: by what it is divided
  bool or_null = false;              // an empty text, or a number that is none, is null
  bool if_any = false;               // the key stands only where there is a text, a list, an optional
  std::string_view with = {};        // with if_any: another key that stands there in the same cases
  bool some = false;                 // a written text or list is never empty
  bool unique = false;               // a list has nothing twice
  bool one = false;                  // a list's only element may stand in its place
  bool words = false;                // with `one`: such a text is taken apart at blanks, as a command line
  bool json = false;                 // a text that holds a JSON object, and is written as that; empty: null
  bool below = false;                // a path; below the folder of the file it is written relative to that
  std::string_view value = {};       // of an option of the command line: what its value is called, "DIR"
  bool percent = false;              // there it is a percentage: 0.02 is "2%"

  // The same with a meaning: of a member that is described as many are (kMs).
  constexpr About Means(std::string_view text) const {
    About about = *this;
    about.meaning = text;
    return about;
  }
};

inline constexpr About kMs{.scale = 1e6};                    // of nanoseconds
inline constexpr About kMsOfTime{.least = 0, .scale = 1e6};  // that cannot be negative
inline constexpr About kShareOfWhole{.least = 0, .most = 1};

// The number of a file's or an output's form.
void DescribeSchemaVersion(auto& v, int version = 1) {
  v.Constant("schema_version", version, {.meaning = "keys may be added under the same number"});
}

inline constexpr std::string_view kSha256Pattern = "^[0-9a-f]{64}$";

template <typename E>
using NamedValue = std::pair<E, const char*>;
// Names of an enumeration's values, in files and for people: `template <> inline constexpr NamedValue<E>
// kNames<E>[] = {...}`. A value without a name is never written.
template <typename E>
inline constexpr auto kNames = nullptr;

template <typename E>
concept Named = std::is_enum_v<E> && std::is_array_v<decltype(kNames<E>)>;

// The name that a table has for a value; empty where it has none.
template <typename E, std::size_t N>
constexpr const char* NameIn(const NamedValue<E> (&names)[N], E value) {
  for (const auto& [each, name] : names) {
    if (each == value) return name;
  }
  return "";
}

template <Named E>
constexpr const char* NameOf(E value) {
  return NameIn(kNames<E>, value);
}

template <Named E>
constexpr std::optional<E> ValueNamed(std::string_view text) {
  for (const auto& [each, name] : kNames<E>) {
    if (text == name) return each;
  }
  return std::nullopt;
}

// Takes every member and does nothing.
struct AnyVisitor {
  void operator()(auto&&...) {}
};

template <typename T>
concept Described = std::is_class_v<T> && requires(AnyVisitor& v) { T::Describe(v); };

}  // namespace etprof
