#include "history/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "core/file/process_folder.h"

namespace etprof {
namespace {

Error DamagedError(const std::filesystem::path& file, std::string reason) {
  std::ranges::replace(reason, '\n', ' ');  // SQLite's message gives the position on a separate line
  return Error(ExitCode::kBadInput, fmt::format("is damaged: {}", reason))
      .InFile(file.string())
      .Remedy("restore it from a copy, or add the runs again to a new file");
}

constexpr const char* kReadSchema = "SELECT count(*) FROM sqlite_schema";

// The longest text is `by_launch`, about 10 bytes per launch.
constexpr int kMaxRowBytes = 4 << 20;
// Reading a whole history takes about 30 steps per byte.
constexpr std::uint64_t kMinSteps = 50'000'000, kStepsPerByte = 200;
constexpr int kStepsPerCallback = 10'000;

std::filesystem::path JournalPath(std::filesystem::path file) { return file += "-journal"; }

// Rejects side files of `path` with which SQLite would do more than roll back this one file. `file` is the
// name for messages.
void RejectDangerousSideFiles(const std::filesystem::path& path, const std::filesystem::path& file) {
  namespace fs = std::filesystem;
  const auto refuse = [&](const char* suffix, std::string_view problem) {
    throw Error(ExitCode::kBadInput,
                fmt::format("has a file `{}{}` {}", file.filename().string(), suffix, problem))
        .InFile(file.string())
        .Remedy("restore the history from a copy, without that file");
  };
  std::error_code error;
  fs::path wal = path;
  wal += "-wal";
  // SQLite reads the log even if the header of the database says that there is none.
  if (fs::symlink_status(wal, error).type() != fs::file_type::not_found)
    refuse("-wal", "(a write-ahead log), which etprof does not write");
  const fs::path journal = JournalPath(path);
  const fs::file_type type = fs::symlink_status(journal, error).type();
  if (type == fs::file_type::not_found) return;
  if (type != fs::file_type::regular) refuse("-journal", "that is not a regular file");
  const MappedFile mapped = MappedFile::Open(journal, kMaxTableBytes);
  const ByteView bytes = mapped.bytes();
  // https://www.sqlite.org/fileformat2.html#the_rollback_journal describes the header. A journal that names a
  // super-journal, which SQLite deletes, ends with the magic bytes (readSuperJournal() in SQLite's pager.c).
  constexpr std::string_view kMagic("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 8);
  constexpr std::size_t kHeader = 28;
  const auto is_magic = [&](std::size_t at) {
    return std::memcmp(bytes.data() + at, kMagic.data(), kMagic.size()) == 0;
  };
  if (bytes.size() < kHeader) return;  // too short for a header or a super-journal
  if (is_magic(bytes.size() - kMagic.size())) refuse("-journal", "that makes SQLite delete another file");
  // The journal contains all pages that a transaction removed, so the old size cannot exceed the sum of both
  // files.
  const std::uint64_t old_size = std::uint64_t{BigEndianAt(bytes, 16)} * BigEndianAt(bytes, 24);
  if (is_magic(0) && old_size > bytes.size() + fs::file_size(path)) refuse("-journal", "that is damaged");
}

}  // namespace

std::uint32_t BigEndianAt(ByteView bytes, std::size_t offset) {
  std::uint32_t value = 0;
  for (std::size_t i = offset; i < offset + 4; ++i)
    value = value << 8U | std::to_integer<std::uint32_t>(bytes[i]);
  return value;
}

Database::Database(std::filesystem::path file, Mode mode, double busy_seconds)
    : file_(std::move(file)), busy_seconds_(busy_seconds) {
  const int flags = mode == Mode::kRead    ? SQLITE_OPEN_READONLY
                    : mode == Mode::kWrite ? SQLITE_OPEN_READWRITE
                                           : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  try {
    // SQLite looks for side files next to a link's target, so check there.
    const std::filesystem::path path = std::filesystem::weakly_canonical(std::filesystem::absolute(file_));
    RejectDangerousSideFiles(path, file_);
    Open(path, flags);
    // SQLite opens a file without write permission as read-only.
    if (mode != Mode::kRead && sqlite3_db_readonly(handle_, "main") == 1) Fail(SQLITE_READONLY);
    if (mode == Mode::kRead) {
      const int code = sqlite3_exec(handle_, kReadSchema, nullptr, nullptr, nullptr);
      if (code == SQLITE_READONLY_ROLLBACK)
        OpenRecoveredCopy(path);
      else if (code != SQLITE_OK)
        Fail(code);
    }
  } catch (...) {
    sqlite3_close(handle_);
    throw;
  }
}

Database::Database() { Open(":memory:", SQLITE_OPEN_READWRITE); }

void Database::Open(const std::filesystem::path& path, int flags) {
  sqlite3_close(std::exchange(handle_, nullptr));
  const int code =
      sqlite3_open_v2(path.c_str(), &handle_, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW, nullptr);
  if (code != SQLITE_OK) Fail(code);
  sqlite3_extended_result_codes(handle_, 1);
  sqlite3_busy_timeout(handle_, static_cast<int>(1000 * busy_seconds_));
  // https://www.sqlite.org/security.html recommends these options for untrusted files.
  for (const auto& [option, value] :
       {std::pair(SQLITE_DBCONFIG_DEFENSIVE, 1), std::pair(SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
        std::pair(SQLITE_DBCONFIG_ENABLE_TRIGGER, 0), std::pair(SQLITE_DBCONFIG_ENABLE_VIEW, 0)})
    sqlite3_db_config(handle_, option, value, nullptr);
  sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, kMaxRowBytes);
  sqlite3_limit(handle_, SQLITE_LIMIT_ATTACHED, 0);
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  max_steps_ = (kMinSteps + kStepsPerByte * (error ? 0 : size)) / kStepsPerCallback;
  const auto count = [](void* database) {
    auto& self = *static_cast<Database*>(database);
    return static_cast<int>(++self.steps_ > self.max_steps_);
  };
  sqlite3_progress_handler(handle_, kStepsPerCallback, count, this);
  Execute("PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;");
}

void Database::OpenRecoveredCopy(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  const fs::path journal = JournalPath(path);
  const ProcessFolder folder("etprof-history", "a copy of a history");
  const fs::path copy = folder.path() / "history.sqlite";
  try {
    const fs::file_time_type before = fs::last_write_time(journal);
    fs::copy_file(journal, JournalPath(copy));
    fs::copy_file(path, copy);
    // Another process may recover the file meanwhile. It removes the journal as its last step.
    if (fs::last_write_time(journal) != before) throw fs::filesystem_error("it was changed", path, {});
    RejectDangerousSideFiles(copy, file_);
    Open(copy, SQLITE_OPEN_READWRITE);
    // The first read rolls back the interrupted transaction. The open file stays readable after `folder` is
    // removed.
    Execute(kReadSchema);
  } catch (const fs::filesystem_error&) {
    throw Error(ExitCode::kDeviceFailed,
                "was interrupted while it was written, and a copy of it cannot be made to recover it")
        .InFile(file_.string())
        .Remedy("try again, with more space for temporary files");
  }
}

Database::~Database() { sqlite3_close(handle_); }

void Database::Execute(const char* sql) {
  if (const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr); code != SQLITE_OK) Fail(code);
}

std::int64_t Database::QueryInteger(std::string_view sql) {
  Statement statement(*this, sql);
  return statement.Step() ? statement.Integer(0) : 0;
}

void Database::RequireUndamaged() {
  Statement check(*this, "PRAGMA quick_check(1)");
  if (check.Step() && check.Text(0) != "ok") throw DamagedError(file_, check.Text(0));
}

std::vector<std::string> Database::Schema() {
  Statement read(*this, "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name, type");
  return read.ReadRows(
      [&] { return fmt::format("{} {} {} {}", read.Text(0), read.Text(1), read.Text(2), read.Text(3)); });
}

void Database::RequireSameSchema(Database& expected) {
  if (Schema() == expected.Schema()) return;
  throw Error(ExitCode::kBadInput, "has other tables, views, or triggers than a history that etprof wrote")
      .InFile(file_.string())
      .Remedy("name another file; `etprof history add` creates one that does not exist");
}

std::int64_t Database::LastRowId() const { return sqlite3_last_insert_rowid(handle_); }

void Database::Fail(int code) const {
  const std::string reason = handle_ != nullptr ? sqlite3_errmsg(handle_) : sqlite3_errstr(code);
  const auto make_error = [&](const std::string& problem, const char* remedy) -> Error {
    return Error(ExitCode::kDeviceFailed, problem).InFile(file_.string()).Remedy(remedy);
  };
  const int primary = code & 0xff;
  if (primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB) throw DamagedError(file_, reason);
  if (primary == SQLITE_TOOBIG) throw DamagedError(file_, "a text is too long");
  if (primary == SQLITE_INTERRUPT)
    throw DamagedError(file_, "reading it takes too long for a file of its size");
  if (primary == SQLITE_BUSY || primary == SQLITE_LOCKED)
    throw make_error("is in use: another process writes to it", "try again once that has ended");
  if (primary == SQLITE_FULL || code == SQLITE_IOERR_WRITE) {
    throw make_error("cannot be written: no space is left. Its content is unchanged",
                     "free some space, and repeat the command");
  }
  if (primary == SQLITE_READONLY || primary == SQLITE_PERM) {
    throw make_error("cannot be written: permission denied",
                     "make it and its folder writable, or name another file with `--history FILE`");
  }
  throw make_error(fmt::format("cannot be used: {}", reason),
                   "check the disk, or name another file with `--history FILE`");
}

Statement::Statement(Database& database, std::string_view sql) : database_(database) {
  const int code =
      sqlite3_prepare_v2(database.handle(), sql.data(), static_cast<int>(sql.size()), &statement_, nullptr);
  if (code != SQLITE_OK) database.Fail(code);
}

Statement::~Statement() { sqlite3_finalize(statement_); }

void Statement::BindAt(int index, const std::string& text) {
  sqlite3_bind_text(statement_, index, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
}
void Statement::BindAt(int index, std::int64_t number) { sqlite3_bind_int64(statement_, index, number); }
void Statement::BindAt(int index, double number) { sqlite3_bind_double(statement_, index, number); }

bool Statement::Step() {
  const int code = sqlite3_step(statement_);
  if (code != SQLITE_ROW && code != SQLITE_DONE) database_.Fail(code);
  return code == SQLITE_ROW;
}

void Statement::Run() {
  while (Step()) {
  }
  Reset();
}

void Statement::Reset() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

std::int64_t Statement::Integer(int column) const { return sqlite3_column_int64(statement_, column); }
double Statement::Real(int column) const { return sqlite3_column_double(statement_, column); }
std::string Statement::Text(int column) const {
  const unsigned char* const text = sqlite3_column_text(statement_, column);
  if (text == nullptr) return "";
  return {reinterpret_cast<const char*>(text),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}
bool Statement::IsNull(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
std::optional<std::int64_t> Statement::MaybeInteger(int column) const {
  return IsNull(column) ? std::nullopt : std::optional(Integer(column));
}
std::optional<double> Statement::MaybeReal(int column) const {
  return IsNull(column) ? std::nullopt : std::optional(Real(column));
}

Transaction::Transaction(Database& database) : database_(database) { database.Execute("BEGIN IMMEDIATE"); }

Transaction::~Transaction() {
  if (open_) sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::Commit() {
  database_.Execute("COMMIT");
  open_ = false;
}

}  // namespace etprof
