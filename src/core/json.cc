#include "core/json.h"

#include <nlohmann/json.hpp>
#include <string>

namespace etprof {
namespace {

using nlohmann::json;

// Counts the nesting, keeps nothing, and stops the parser where it is too deep.
class Depth : public nlohmann::json_sax<json> {
 public:
  bool too_deep() const { return too_deep_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return Open(); }
  bool key(string_t&) override { return true; }
  bool end_object() override { return Close(); }
  bool start_array(std::size_t) override { return Open(); }
  bool end_array() override { return Close(); }
  bool parse_error(std::size_t, const std::string&, const json::exception&) override { return false; }

 private:
  bool Open() {
    too_deep_ = ++depth_ > kMostJsonNesting;
    return !too_deep_;
  }
  bool Close() {
    --depth_;
    return true;
  }

  int depth_ = 0;
  bool too_deep_ = false;
};

}  // namespace

bool NestsTooDeep(std::string_view text, bool with_comments) {
  Depth depth;
  json::sax_parse(text, &depth, json::input_format_t::json, /*strict=*/true, with_comments);
  return depth.too_deep();
}

json ParseJson(std::string_view text) {
  if (NestsTooDeep(text)) return json(json::value_t::discarded);
  return json::parse(text, nullptr, /*allow_exceptions=*/false);
}

}  // namespace etprof
