// Reads, checks, shows, and exports a history with changed values in its rows (the first byte is even), or
// with changed bytes in its file and journal. Requires that no file changes.

#include <sqlite3.h>

#include <array>
#include <map>
#include <memory>
#include <sstream>

#include "fuzz.h"
#include "history/history_file.h"
#include "history/trends.h"
#include "mutate_json.h"
#include "show/formats.h"
#include "show/formats/export/history_export.h"
#include "show/formats/screen/terminal.h"
#include "show/gates.h"

namespace {

using namespace etprof;
namespace fs = std::filesystem;

// A history of ten runs of two experiments, one of which is the reference.
const std::string& ValidHistory() {
  static const std::string kBytes = [] {
    const fs::path file = fuzz::ScratchFolder() / "valid.sqlite";
    {
      HistoryFile history = HistoryFile::OpenToAdd(file);
      for (int number = 0; number < 10; ++number) {
        HistoryRun run;
        run.identity = "run " + std::to_string(number);
        run.commit = "c" + std::to_string(number);
        run.time = 1000 + number;
        run.measured_at = 5000 + number;
        run.reference = "fixed";
        for (const char* const experiment : {"base", "fixed"}) {
          HistoryResult result;
          result.series = {"net", "forward", experiment, 1, "", "local"};
          for (int i = 0; i < 4; ++i)
            result.launches.push_back(
                {i, 1'000'000 + 1000 * i + 50'000 * (number / 5), 8, 10, 0.01 * i, 999});
          result.operator_runs = 4;
          result.operators = {{"forward/0/kernel/0", "mul", 400, {1, 2, 3, 4}},
                              {"forward/1/kernel/0", "add", 13, {}}};
          run.results.push_back(result);
        }
        history.Add(run);
      }
    }
    return ReadTextFile(file);
  }();
  return kBytes;
}

void MutateValues(const fs::path& file, fuzz::Choices& choices) {
  static constexpr std::array kColumns = {"machine.platform",
                                          "machine.cores",
                                          "machine.governors",
                                          "artifact.model_sha256",
                                          "series.model",
                                          "series.experiment",
                                          "series.threads",
                                          "series.device",
                                          "series.settings",
                                          "run.commit_name",
                                          "run.time",
                                          "run.measured_at",
                                          "run.reference",
                                          "run.machine",
                                          "run.rounds",
                                          "run.hot_rounds",
                                          "run.celsius",
                                          "run.load",
                                          "run.frequency_khz",
                                          "result.series",
                                          "result.run",
                                          "result.time",
                                          "result.measured_at",
                                          "result.artifact",
                                          "result.operator_runs",
                                          "launch.launch",
                                          "launch.latency_ns",
                                          "launch.clean_runs",
                                          "launch.runs",
                                          "launch.log_relative",
                                          "launch.traced_ns",
                                          "operator.key",
                                          "operator.name",
                                          "operator_time.self_ns",
                                          "operator_time.by_launch",
                                          "operator_time.operator",
                                          "launch.result",
                                          "operator_time.result"};
  static constexpr std::array kValues = {"0",
                                         "1",
                                         "-1",
                                         "2",
                                         "1e308",
                                         "9e999",
                                         "-9e999",
                                         "9223372036854775807",
                                         "-9223372036854775808",
                                         "4294967296",
                                         "0.5",
                                         "1e-320",
                                         "''",
                                         "'a' || char(8238, 27, 10)",
                                         "'[1,2]'",
                                         "'[1,2,3,9223372036854775807]'",
                                         "'['",
                                         "x'ff00'",
                                         "hex(zeroblob(300))",
                                         "'net'",
                                         "'fixed'",
                                         "'base'",
                                         "'c1'",
                                         "NULL",
                                         "'[-5,0,0,1]'",
                                         "1000000000000"};
  sqlite3* opened = nullptr;
  if (sqlite3_open(file.c_str(), &opened) != SQLITE_OK) throw std::logic_error("the copy cannot be opened");
  const std::unique_ptr<sqlite3, decltype(&sqlite3_close)> database(opened, sqlite3_close);
  std::string script = "PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY; BEGIN;";
  for (int changes = 0; changes < 12 && !choices.Done(); ++changes) {
    const std::string name = kColumns[choices.Next() % kColumns.size()];
    const std::string table = name.substr(0, name.find('.')), column = name.substr(name.find('.') + 1);
    const std::string condition = table == "launch" ? "result = " + std::to_string(1 + choices.Next() % 20)
                                  : table == "operator_time"
                                      ? "result = " + std::to_string(1 + choices.Next() % 20)
                                      : "id = " + std::to_string(1 + choices.Next() % 20);
    script += "UPDATE OR IGNORE " + table + " SET " + column + " = " +
              kValues[choices.Next() % kValues.size()] +
              (choices.Next() % 4 == 0 ? "" : " WHERE " + condition) + ";";
  }
  sqlite3_exec(database.get(), (script + "COMMIT;").c_str(), nullptr, nullptr, nullptr);
}

std::map<fs::path, std::string> Contents(const fs::path& folder) {
  std::map<fs::path, std::string> contents;
  for (const auto& entry : fs::directory_iterator(folder))
    contents[entry.path()] = ReadTextFile(entry.path());
  return contents;
}

void ReadAndRender(const fs::path& file) {
  HistoryReport report;
  report = FindTrends(HistoryFile::OpenToRead(file).Trends({.with_operators = true, .last = 0}), "");
  std::ostringstream out;
  for (const show::Document& document : {show::MakeHistoryDocument(report, "h.sqlite"),
                                         show::MakeHistoryCheckDocument(report, "h.sqlite", false)}) {
    RenderDocumentTerminal(document, {}, out);
    for (const DocumentFormat& format : kDocumentFormats) format.render(document, out);
  }
  for (const HistoryFormat& format : HistoryFormats()) format.render(report, out);
  FindTrends(HistoryFile::OpenToRead(file).Trends({.operator_name = "mul", .last = 3}), "mul");
}

}  // namespace

ETPROF_FUZZ_TARGET(history) {
  fuzz::Choices choices(data, size);
  const std::size_t kind = choices.Next();
  std::string bytes = ValidHistory();
  const fs::path folder = fuzz::ScratchFolder() / "history", file = folder / "h.sqlite";
  const fs::path journal = folder / "h.sqlite-journal";
  fs::remove_all(folder);
  fuzz::ScratchFile("history/victim", {});
  if (kind % 2 == 1) {
    for (int changes = 0; changes < 40 && !choices.Done(); ++changes) {
      const std::size_t at = choices.Next(3) % bytes.size();
      bytes[at] = static_cast<char>(choices.Next());
    }
    if (kind % 8 == 3) bytes.resize(choices.Next(3) % bytes.size());
  }
  fuzz::ScratchFile("history/h.sqlite", std::as_bytes(std::span(bytes)));
  if (kind % 2 == 0) MutateValues(file, choices);
  if (kind % 8 == 1) {
    // Makes the journal of a transaction that changed two pages, and changes some of its bytes.
    const std::string original = ValidHistory();
    std::string text = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";
    const auto number = [&](std::size_t value) {
      for (int shift = 24; shift >= 0; shift -= 8)
        text += static_cast<char>(value >> static_cast<unsigned>(shift));
    };
    for (const std::size_t value :
         {std::size_t{2}, std::size_t{0}, original.size() / 4096, std::size_t{512}, std::size_t{4096}})
      number(value);
    text.resize(512, '\0');
    for (const std::size_t page : {std::size_t{1}, std::size_t{3}}) {
      number(page);
      const std::string content = original.substr((page - 1) * 4096, 4096);
      text += content;
      std::size_t sum = 0;
      for (std::size_t at = 4096 - 200; at > 0; at = at > 200 ? at - 200 : 0)
        sum += static_cast<unsigned char>(content[at]);
      number(sum);
    }
    for (int changes = 0; changes < 8 && !choices.Done(); ++changes)
      text[choices.Next(2) % text.size()] = static_cast<char>(choices.Next());
    fuzz::ScratchFile("history/h.sqlite-journal", std::as_bytes(std::span(text)));
  }
  const auto before = Contents(folder);
  fuzz::Accepts({ExitCode::kBadInput, ExitCode::kDeviceFailed, ExitCode::kUsage},
                [&] { ReadAndRender(file); });
  fuzz::Require(Contents(folder) == before, "reading a history changes no file");
  return 0;
}
