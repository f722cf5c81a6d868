#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/json/json.h"

namespace etprof {

// What ToJson<JsonLine>(value) writes a described value into (core/json/json_members.h): the text that
// JsonText makes of it, on one line, without a value of its own for each number. Of 600,000 numbers that
// takes a third of the time.
class JsonLine {
 public:
  template <typename T>
  JsonLine(const T& value) {  // NOLINT: as nlohmann-json's
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      text_ = fmt::format_int(value).str();
    } else {
      text_ = JsonText(nlohmann::ordered_json(value));
    }
  }
  static JsonLine object() { return JsonLine('{', '}'); }
  static JsonLine array() { return JsonLine('[', ']'); }
  static JsonLine parse(std::string_view text, std::nullptr_t, bool throws) {
    return nlohmann::ordered_json::parse(text, nullptr, throws);
  }

  bool is_object() const { return text_.starts_with('{'); }
  std::string Text() const { return close_ == 0 ? text_ : text_ + close_; }

  struct Member {
    JsonLine& of;
    std::string_view key;

    void operator=(const JsonLine& value) const {
      of.Next();
      of.text_ += JsonText(nlohmann::ordered_json(std::string(key))) + ':';
      of.Append(value);
    }
  };
  Member operator[](std::string_view key) { return {*this, key}; }
  void push_back(const JsonLine& value) {
    Next();
    Append(value);
  }

 private:
  JsonLine(char open, char close) : text_(1, open), close_(close) {}

  void Next() {
    if (text_.size() > 1) text_ += ',';
  }
  void Append(const JsonLine& value) {
    text_ += value.text_;
    if (value.close_ != 0) text_ += value.close_;
  }

  std::string text_;  // without its end
  char close_ = 0;    // that end; 0: none
};

}  // namespace etprof
