#include "xnnpack/kernel_log.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/text/text.h"

namespace etprof::xnnpack {
namespace {

constexpr std::string_view kMark = " (XNNPACK): ";
constexpr std::array<std::string_view, 5> kLevels = {"Fatal Error", "Error", "Warning", "Note", "Debug"};

bool Take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

template <typename Number>
bool TakeNumber(std::string_view& text, Number& number) {
  if (text.empty() || !IsDigit(text.front())) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

// A message of XNNPACK within a line.
struct Message {
  std::string_view text;  // behind the mark
  bool chatty = false;    // of level Note or Debug
};

// Where XNNPACK's own prefix ("Note (XNNPACK): ") begins, from `from` on.
struct Prefix {
  std::size_t begin = std::string_view::npos, end = 0;
  bool chatty = false;
};
Prefix FindPrefix(std::string_view line, std::size_t from) {
  for (std::size_t at = line.find(kMark, from); at != std::string_view::npos; at = line.find(kMark, at + 1)) {
    for (const std::string_view level : kLevels) {
      if (!line.substr(from, at - from).ends_with(level)) continue;
      return {at - level.size(), at + kMark.size(), level == "Note" || level == "Debug"};
    }
  }
  return {};
}

// logcat puts its own prefix instead of XNNPACK's, with a tag:
//   brief       I/XNNPACK ( 1234): text          tag      I/XNNPACK: text
//   time        11-21 20:40:43.863 I/XNNPACK ( 1234): text
//   threadtime  11-21 20:40:43.863  1234  1240 I XNNPACK : text
// (process, "I( 1234) text  (XNNPACK)", has the tag behind.)
std::optional<Message> LogcatMessage(std::string_view line) {
  constexpr std::string_view kTag = "XNNPACK";
  constexpr std::size_t kFarthest = 64;
  const std::size_t at = line.substr(0, kFarthest).find(kTag);
  if (at != std::string_view::npos && at >= 2 && (line[at - 1] == '/' || line[at - 1] == ' ')) {
    const char level = line[at - 2];
    std::string_view rest = line.substr(at + kTag.size());
    while (rest.starts_with(' ')) rest.remove_prefix(1);
    if (Take(rest, "(")) {
      int process = 0;
      while (rest.starts_with(' ')) rest.remove_prefix(1);
      if (!TakeNumber(rest, process) || !Take(rest, ")")) return std::nullopt;
    }
    if (std::string_view("VDIWEF").find(level) == std::string_view::npos || !Take(rest, ":"))
      return std::nullopt;
    if (rest.starts_with(' ')) rest.remove_prefix(1);
    return Message{rest, level == 'V' || level == 'D' || level == 'I'};
  }
  constexpr std::string_view kEnd = "  (XNNPACK)";
  if (line.size() > 2 && line[1] == '(' && line.ends_with(kEnd)) {
    std::string_view rest = line.substr(2, line.size() - 2 - kEnd.size());
    int process = 0;
    while (rest.starts_with(' ')) rest.remove_prefix(1);
    if (TakeNumber(rest, process) && Take(rest, ") "))
      return Message{rest, line[0] == 'V' || line[0] == 'D' || line[0] == 'I'};
  }
  return std::nullopt;
}

// Calls `take` with every message of the text. Two processes' or streams' lines may be one where they cut
// each other: a message ends where the next one begins.
template <typename Taker>
std::size_t ForEachMessage(std::string_view text, const Taker& take) {
  std::size_t lines = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
    const std::string_view line = text.substr(0, end);
    const bool both = end + 1 < text.size() && text[end] == '\r' && text[end + 1] == '\n';
    text.remove_prefix(std::min(end + (both ? 2 : 1), text.size()));
    ++lines;
    Prefix prefix = FindPrefix(line, 0);
    if (prefix.begin == std::string_view::npos) {
      if (const auto message = LogcatMessage(line); message && !take(*message)) return lines;
      continue;
    }
    while (prefix.begin != std::string_view::npos) {
      const Prefix next = FindPrefix(line, prefix.end);
      const Message message{line.substr(prefix.end, std::min(next.begin, line.size()) - prefix.end),
                            prefix.chatty};
      if (!take(message)) return lines;
      prefix = next;
    }
  }
  return lines;
}

// The text in parentheses that begin here, which may hold others: "(Convolution (NHWC, F32) IGEMM)".
std::optional<std::string_view> TakeParentheses(std::string_view& text) {
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

// "(init_f32_igemm_config, /src/.../gemm-config.c:1469)" at the end of a message.
void ReadPlace(std::string_view text, Registration& registration) {
  while (text.starts_with(' ') || text.starts_with('.')) text.remove_prefix(1);
  const auto inside = TakeParentheses(text);
  if (!inside) return;
  const std::size_t comma = inside->find(", ");
  const std::size_t colon = inside->rfind(':');
  if (comma == std::string_view::npos || colon == std::string_view::npos || colon < comma) return;
  std::string_view line = inside->substr(colon + 1);
  if (!TakeNumber(line, registration.line)) return;
  registration.config = inside->substr(0, comma);
  const std::string_view path = inside->substr(comma + 2, colon - comma - 2);
  const std::size_t slash = path.find_last_of("/\\");
  registration.file = slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// A table is of at most ten elementwise operators in a row (XNN_MAX_UNARY_FUSION_NODES). Where making one
// failed, what runs next is another graph.
bool CanMakeTable(const LoggedGraph& graph) {
  return graph.operators.size() <= 10 &&
         std::ranges::none_of(graph.operators, [](const LoggedOperator& op) { return op.tile.has_value(); });
}

class Reader {
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
    bool whole = true;
    if (Take(text, "Using ")) {
      const std::size_t word = text.find(" microkernel '");
      if (word == std::string_view::npos) return;  // other things are used, too
      whole = ReadRegistration(text.substr(0, word), text.substr(word + 14));
    } else if (Take(text, "reshaping operator ")) {
      whole = ReadReshape(text);
    } else if (Take(text, "Tile size for GEMM with ")) {
      whole = ReadTile(text);
    } else if (Take(text, "running operator ")) {
      whole = ReadRun(text, false);
    } else if (Take(text, "skip running operator ")) {
      whole = ReadRun(text, true);
    } else if (text.starts_with("Running unary subgraph to make LUT")) {
      EndGraph();
      makes_table_ = true;
    }
    if (!whole) ++log_.cut_lines;
  }

  bool ReadRegistration(std::string_view role, std::string_view text) {
    const std::size_t quote = text.find('\'');
    if (quote == std::string_view::npos || quote == 0) return false;
    Registration registration;
    registration.kernel = text.substr(0, quote);
    registration.role = role;
    ReadPlace(text.substr(quote + 1), registration);
    const auto [place, is_new] = registered_.try_emplace(
        std::tuple(registration.kernel, registration.config, registration.line, registration.role),
        log_.registrations.size());
    if (is_new) log_.registrations.push_back(std::move(registration));
    ++log_.registrations[place->second].count;
    return true;
  }

  bool ReadReshape(std::string_view text) {
    std::uint32_t index = 0;
    if (!TakeNumber(text, index) || !Take(text, " ")) return Lost();
    const auto type = TakeParentheses(text);
    if (!type) return Lost();
    if (shaped_.empty() || running_ || index <= last_shaped_) {
      // A runtime begins. Where another was reshaped and did not run, the runs to come may be of either.
      EndGraph();
      unclear_ = !shaped_.empty() && !consumed_;
      shaped_.clear();
      consumed_ = false;
    } else if (index != last_shaped_ + 1) {
      Lost();  // a line between is missing: the last tile may be the missing operator's
    }
    last_shaped_ = index;
    shaped_[index].type = *type;
    return true;
  }

  // The operator that was being reshaped is not certain any more.
  bool Lost() {
    if (const auto found = shaped_.find(last_shaped_); found != shaped_.end()) found->second.unclear = true;
    return false;
  }

  bool ReadTile(std::string_view text) {
    Tile tile;
    std::int64_t ignored = 0;
    const bool whole = Take(text, "num_groups=") && TakeNumber(text, ignored) && Take(text, ", m=") &&
                       TakeNumber(text, tile.m) && Take(text, ", n=") && TakeNumber(text, tile.n) &&
                       Take(text, " and mr=") && TakeNumber(text, tile.mr) && Take(text, ", nr=") &&
                       TakeNumber(text, tile.nr) && Take(text, " set to [");
    if (!whole) return Lost();
    const auto found = shaped_.find(last_shaped_);
    if (found == shaped_.end() || running_) return true;
    Shaped& shaped = found->second;
    shaped.unclear = shaped.unclear || (shaped.tile && *shaped.tile != tile);
    shaped.tile = tile;
    return true;
  }

  bool ReadRun(std::string_view text, bool skipped) {
    std::uint32_t index = 0, part = 0;
    if (!TakeNumber(text, index) || !Take(text, ":") || !TakeNumber(text, part) || !Take(text, " "))
      return false;
    const auto name = TakeParentheses(text);
    if (!name) return false;
    if (part != 0) return true;  // a further operator of the same node
    if (running_ && !graph_.operators.empty() && index <= graph_.operators.back().index) EndGraph();
    running_ = true;
    LoggedOperator op{index, std::string(*name), skipped, std::nullopt};
    // A reshaping tells of the run that follows it, and of no later one, which may be another runtime's.
    const auto shaped = shaped_.find(index);
    if (!consumed_ && !unclear_ && shaped != shaped_.end() && !shaped->second.unclear &&
        name->starts_with(shaped->second.type)) {
      op.tile = shaped->second.tile;
    }
    graph_.operators.push_back(std::move(op));
    return true;
  }

  // A runtime has run through.
  void EndGraph() {
    if (!running_) return;
    running_ = false;
    consumed_ = true;
    if (std::exchange(makes_table_, false) && CanMakeTable(graph_)) {
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
    const auto [place, is_new] = graphs_.try_emplace(std::move(key), log_.graphs.size());
    if (is_new) log_.graphs.push_back(std::move(graph_));
    ++log_.graphs[place->second].calls;
    graph_ = {};
  }

  struct Shaped {
    std::string type;
    std::optional<Tile> tile;
    bool unclear = false;
  };

  KernelLog log_;
  std::map<std::tuple<std::string, std::string, int, std::string>, std::size_t> registered_;
  std::unordered_map<std::string, std::size_t> graphs_;
  std::map<std::uint32_t, Shaped> shaped_;  // of the runtime that is reshaped, by index
  std::uint32_t last_shaped_ = 0;
  bool consumed_ = false;  // a run has followed the reshaping
  bool unclear_ = false;   // whose reshaping it was
  bool running_ = false;
  bool makes_table_ = false;  // the graph that runs next, or is running
  LoggedGraph graph_;
};

}  // namespace

KernelLog ParseKernelLog(std::string_view text) { return Reader().Read(text); }

bool IsTraceEnabled(std::string_view text) {
  bool found = false;
  ForEachMessage(text, [&](const Message& message) {
    found = message.chatty;
    return !found;
  });
  return found;
}

}  // namespace etprof::xnnpack
