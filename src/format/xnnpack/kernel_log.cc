#include "format/xnnpack/kernel_log.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/text/text.h"

namespace etprof::xnnpack {
namespace {

constexpr std::string_view kPrefixMark = " (XNNPACK): ";
constexpr std::array<std::string_view, 5> kLevels = {"Fatal Error", "Error", "Warning", "Note", "Debug"};

bool ConsumePrefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

template <typename Number>
bool ReadNumber(std::string_view& text, Number& number) {
  if (text.empty() || !IsDigit(text.front())) return false;
  const auto value = ConsumeNumber<Number>(text);
  number = value.value_or(number);
  return value.has_value();
}

void SkipBlanks(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
}

// A message of XNNPACK within a line.
struct Message {
  std::string_view text;    // after the prefix
  bool is_verbose = false;  // true for the levels Note and Debug
};

// The position of XNNPACK's prefix ("Note (XNNPACK): ") at or after `from`.
struct Prefix {
  std::size_t begin = std::string_view::npos, end = 0;
  bool is_verbose = false;
};
Prefix FindPrefix(std::string_view line, std::size_t from) {
  for (std::size_t at = line.find(kPrefixMark, from); at != std::string_view::npos;
       at = line.find(kPrefixMark, at + 1)) {
    for (const std::string_view level : kLevels) {
      if (!line.substr(from, at - from).ends_with(level)) continue;
      return {at - level.size(), at + kPrefixMark.size(), level == "Note" || level == "Debug"};
    }
  }
  return {};
}

// logcat replaces XNNPACK's prefix by its own, with a tag:
//   brief       I/XNNPACK ( 1234): text          tag      I/XNNPACK: text
//   time        11-21 20:40:43.863 I/XNNPACK ( 1234): text
//   threadtime  11-21 20:40:43.863  1234  1240 I XNNPACK : text
// (In the format process, "I( 1234) text  (XNNPACK)", the tag follows the text.)
std::optional<Message> ParseLogcatMessage(std::string_view line) {
  constexpr std::string_view kTag = "XNNPACK";
  constexpr std::size_t kMaxTagColumn = 64;
  const std::size_t at = line.substr(0, kMaxTagColumn).find(kTag);
  if (at != std::string_view::npos && at >= 2 && (line[at - 1] == '/' || line[at - 1] == ' ')) {
    const char level = line[at - 2];
    std::string_view rest = line.substr(at + kTag.size());
    SkipBlanks(rest);
    if (ConsumePrefix(rest, "(")) {
      int process = 0;
      SkipBlanks(rest);
      if (!ReadNumber(rest, process) || !ConsumePrefix(rest, ")")) return std::nullopt;
    }
    if (std::string_view("VDIWEF").find(level) == std::string_view::npos || !ConsumePrefix(rest, ":"))
      return std::nullopt;
    if (rest.starts_with(' ')) rest.remove_prefix(1);
    return Message{rest, level == 'V' || level == 'D' || level == 'I'};
  }
  constexpr std::string_view kEnd = "  (XNNPACK)";
  if (line.size() > 2 && line[1] == '(' && line.ends_with(kEnd)) {
    std::string_view rest = line.substr(2, line.size() - 2 - kEnd.size());
    int process = 0;
    SkipBlanks(rest);
    if (ReadNumber(rest, process) && ConsumePrefix(rest, ") "))
      return Message{rest, line[0] == 'V' || line[0] == 'D' || line[0] == 'I'};
  }
  return std::nullopt;
}

// Calls `visit` with every message of the text until it returns false. If lines of two processes or streams
// interrupt each other, a message ends where the next message begins. Returns the number of lines.
template <typename Visitor>
std::size_t ForEachMessage(std::string_view text, const Visitor& visit) {
  std::size_t lines = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
    const std::string_view line = text.substr(0, end);
    const bool is_crlf = end + 1 < text.size() && text[end] == '\r' && text[end + 1] == '\n';
    text.remove_prefix(std::min(end + (is_crlf ? 2 : 1), text.size()));
    ++lines;
    Prefix prefix = FindPrefix(line, 0);
    if (prefix.begin == std::string_view::npos) {
      if (const auto message = ParseLogcatMessage(line); message && !visit(*message)) return lines;
      continue;
    }
    while (prefix.begin != std::string_view::npos) {
      const Prefix next = FindPrefix(line, prefix.end);
      const Message message{line.substr(prefix.end, std::min(next.begin, line.size()) - prefix.end),
                            prefix.is_verbose};
      if (!visit(message)) return lines;
      prefix = next;
    }
  }
  return lines;
}

// Removes a parenthesized text, which may be nested, from the front: "(Convolution (NHWC, F32) IGEMM)".
std::optional<std::string_view> ConsumeParentheses(std::string_view& text) {
  if (!text.starts_with('(')) return std::nullopt;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth > 0) continue;
    const std::string_view inside = text.substr(1, i - 1);
    text.remove_prefix(i + 1);
    return inside;
  }
  return std::nullopt;
}

// Reads "(init_f32_igemm_config, /src/.../gemm-config.c:1469)" at the end of a message.
void ReadSourceLocation(std::string_view text, Registration& registration) {
  while (text.starts_with(' ') || text.starts_with('.')) text.remove_prefix(1);
  const auto inside = ConsumeParentheses(text);
  if (!inside) return;
  const std::size_t comma = inside->find(", ");
  const std::size_t colon = inside->rfind(':');
  if (comma == std::string_view::npos || colon == std::string_view::npos || colon < comma) return;
  std::string_view line = inside->substr(colon + 1);
  if (!ReadNumber(line, registration.line)) return;
  registration.config = inside->substr(0, comma);
  const std::string_view path = inside->substr(comma + 2, colon - comma - 2);
  const std::size_t slash = path.find_last_of("/\\");
  registration.file = slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// Returns whether the graph may fill a lookup table: at most ten elementwise operators do
// (XNN_MAX_UNARY_FUSION_NODES). If XNNPACK failed to create that graph, the next graph is another graph.
bool CanFillTable(const LoggedGraph& graph) {
  return graph.operators.size() <= 10 &&
         std::ranges::none_of(graph.operators, [](const LoggedOperator& op) { return op.tile.has_value(); });
}

class KernelLogReader {
 public:
  KernelLog Read(std::string_view text) {
    log_.lines = ForEachMessage(text, [this](const Message& message) {
      ++log_.xnnpack_lines;
      ReadMessage(message.text);
      return true;
    });
    EndGraph();
    return std::move(log_);
  }

 private:
  void ReadMessage(std::string_view text) {
    bool is_complete = true;
    if (ConsumePrefix(text, "Using ")) {
      const std::size_t separator = text.find(" microkernel '");
      if (separator == std::string_view::npos) return;  // another message, e.g. about a GEMM config
      is_complete = ReadRegistration(text.substr(0, separator), text.substr(separator + 14));
    } else if (ConsumePrefix(text, "reshaping operator ")) {
      is_complete = ReadReshape(text);
    } else if (ConsumePrefix(text, "Tile size for GEMM with ")) {
      is_complete = ReadTile(text);
    } else if (ConsumePrefix(text, "running operator ")) {
      is_complete = ReadRun(text, false);
    } else if (ConsumePrefix(text, "skip running operator ")) {
      is_complete = ReadRun(text, true);
    } else if (text.starts_with("Running unary subgraph to make LUT")) {
      EndGraph();
      fills_table_ = true;
    }
    if (!is_complete) ++log_.truncated_lines;
  }

  bool ReadRegistration(std::string_view role, std::string_view text) {
    const std::size_t quote = text.find('\'');
    if (quote == std::string_view::npos || quote == 0) return false;
    Registration registration;
    registration.kernel = text.substr(0, quote);
    registration.role = role;
    ReadSourceLocation(text.substr(quote + 1), registration);
    const auto [entry, is_new] = registered_.try_emplace(
        std::tuple(registration.kernel, registration.config, registration.line, registration.role),
        log_.registrations.size());
    if (is_new) log_.registrations.push_back(std::move(registration));
    ++log_.registrations[entry->second].count;
    return true;
  }

  bool ReadReshape(std::string_view text) {
    std::uint32_t index = 0;
    if (!ReadNumber(text, index) || !ConsumePrefix(text, " ")) return MarkAmbiguous();
    const auto type = ConsumeParentheses(text);
    if (!type) return MarkAmbiguous();
    if (reshaped_.empty() || is_running_ || index <= last_reshaped_) {
      // A new runtime begins. If the previous runtime was reshaped but did not run, later runs may
      // belong to either.
      EndGraph();
      reshape_is_ambiguous_ = !reshaped_.empty() && !has_run_;
      reshaped_.clear();
      has_run_ = false;
    } else if (index != last_reshaped_ + 1) {
      MarkAmbiguous();  // a line is missing, so the last tile may belong to the missing operator
    }
    last_reshaped_ = index;
    reshaped_[index].type = *type;
    return true;
  }

  // Marks the operator that is being reshaped as ambiguous. Returns false.
  bool MarkAmbiguous() {
    if (const auto found = reshaped_.find(last_reshaped_); found != reshaped_.end())
      found->second.is_ambiguous = true;
    return false;
  }

  bool ReadTile(std::string_view text) {
    Tile tile;
    std::int64_t ignored = 0;
    const bool is_complete =
        ConsumePrefix(text, "num_groups=") && ReadNumber(text, ignored) && ConsumePrefix(text, ", m=") &&
        ReadNumber(text, tile.m) && ConsumePrefix(text, ", n=") && ReadNumber(text, tile.n) &&
        ConsumePrefix(text, " and mr=") && ReadNumber(text, tile.mr) && ConsumePrefix(text, ", nr=") &&
        ReadNumber(text, tile.nr) && ConsumePrefix(text, " set to [");
    if (!is_complete) return MarkAmbiguous();
    const auto found = reshaped_.find(last_reshaped_);
    if (found == reshaped_.end() || is_running_) return true;
    ReshapedOperator& reshaped = found->second;
    reshaped.is_ambiguous = reshaped.is_ambiguous || (reshaped.tile && *reshaped.tile != tile);
    reshaped.tile = tile;
    return true;
  }

  bool ReadRun(std::string_view text, bool skipped) {
    std::uint32_t index = 0, part_index = 0;
    if (!ReadNumber(text, index) || !ConsumePrefix(text, ":") || !ReadNumber(text, part_index) ||
        !ConsumePrefix(text, " "))
      return false;
    const auto name = ConsumeParentheses(text);
    if (!name) return false;
    if (part_index != 0) return true;  // another XNNPACK operator of the same node
    if (is_running_ && !graph_.operators.empty() && index <= graph_.operators.back().index) EndGraph();
    is_running_ = true;
    LoggedOperator op{index, std::string(*name), skipped, std::nullopt};
    // A reshape applies to the next run only; later runs may belong to another runtime.
    const auto reshaped = reshaped_.find(index);
    if (!has_run_ && !reshape_is_ambiguous_ && reshaped != reshaped_.end() &&
        !reshaped->second.is_ambiguous && name->starts_with(reshaped->second.type)) {
      op.tile = reshaped->second.tile;
    }
    graph_.operators.push_back(std::move(op));
    return true;
  }

  // Ends the current graph: all operators of a runtime have run.
  void EndGraph() {
    if (!is_running_) return;
    is_running_ = false;
    has_run_ = true;
    if (std::exchange(fills_table_, false) && CanFillTable(graph_)) {
      graph_ = {};
      return;
    }
    std::string key;
    for (const LoggedOperator& op : graph_.operators) {
      key += std::to_string(op.index) + (op.skipped ? "-" : "+") + op.name + '\n';
      if (op.tile) {
        for (const std::uint64_t number : {op.tile->m, op.tile->n, op.tile->mr, op.tile->nr})
          key += std::to_string(number) + ' ';
      }
    }
    const auto [entry, is_new] = graphs_.try_emplace(std::move(key), log_.graphs.size());
    if (is_new) log_.graphs.push_back(std::move(graph_));
    ++log_.graphs[entry->second].calls;
    graph_ = {};
  }

  struct ReshapedOperator {
    std::string type;
    std::optional<Tile> tile;
    bool is_ambiguous = false;
  };

  KernelLog log_;
  std::map<std::tuple<std::string, std::string, int, std::string>, std::size_t> registered_;
  std::unordered_map<std::string, std::size_t> graphs_;
  // Keyed by index, for the runtime that is being reshaped.
  std::map<std::uint32_t, ReshapedOperator> reshaped_;
  std::uint32_t last_reshaped_ = 0;
  bool has_run_ = false;               // a run has followed the reshape
  bool reshape_is_ambiguous_ = false;  // the reshape may belong to another runtime
  bool is_running_ = false;
  bool fills_table_ = false;  // the graph that runs next, or is running, fills a lookup table
  LoggedGraph graph_;
};

}  // namespace

KernelLog ParseKernelLog(std::string_view text) { return KernelLogReader().Read(text); }

bool IsTraceEnabled(std::string_view text) {
  bool found = false;
  ForEachMessage(text, [&](const Message& message) {
    found = message.is_verbose;
    return !found;
  });
  return found;
}

}  // namespace etprof::xnnpack
