#pragma once

#include <cstdint>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace etprof {

// Reads the members of a JSON object that a program wrote, tolerantly: what is missing or null keeps its
// default, what has another type is counted in `wrong` and keeps it too.
class ManifestFields {
 public:
  ManifestFields(const nlohmann::json& object, std::int64_t& wrong) : object_(object), wrong_(wrong) {
    if (!object.is_object()) ++wrong_;
  }

  template <typename T>
  void Get(const char* key, T& field) const {
    const nlohmann::json* value = Find(key);
    if (value == nullptr) return;
    if constexpr (std::is_arithmetic_v<T>) {
      const bool right = std::is_same_v<T, bool> ? value->is_boolean()
                         : std::is_integral_v<T> ? value->is_number_integer()
                                                 : value->is_number();
      if (!right || !InRange<T>(*value)) {
        ++wrong_;
        return;
      }
    }
    try {
      field = value->get<T>();
    } catch (const std::exception&) {
      ++wrong_;
    }
  }
  template <typename T>
  void Get(const char* key, std::optional<T>& field) const {
    if (Find(key) == nullptr) return;
    T value{};
    const std::int64_t before = wrong_;
    Get(key, value);
    if (wrong_ == before) field = std::move(value);
  }

  // For a caller that finds a value wrong by itself.
  void CountWrong() const { ++wrong_; }

  // Calls `take` with the object at `key`, or with every object of the list at `key`.
  template <typename Take>
  void Within(const char* key, Take take) const {
    const nlohmann::json* value = Find(key);
    if (value == nullptr) return;
    if (value->is_object()) {
      take(ManifestFields(*value, wrong_));
    } else {
      ++wrong_;
    }
  }
  template <typename Take>
  void Each(const char* key, Take take) const {
    const nlohmann::json* value = Find(key);
    if (value == nullptr) return;
    if (!value->is_array()) {
      ++wrong_;
      return;
    }
    for (const nlohmann::json& item : *value) {
      if (item.is_object()) {
        take(ManifestFields(item, wrong_));
      } else {
        ++wrong_;
      }
    }
  }

 private:
  // nlohmann-json would cut a number to the width of T.
  template <typename T>
  static bool InRange(const nlohmann::json& value) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      return value.is_number_unsigned() ? std::in_range<T>(value.get<std::uint64_t>())
                                        : std::in_range<T>(value.get<std::int64_t>());
    }
    return true;
  }
  const nlohmann::json* Find(const char* key) const {
    if (!object_.is_object()) return nullptr;
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }
  const nlohmann::json& object_;
  std::int64_t& wrong_;
};

}  // namespace etprof
