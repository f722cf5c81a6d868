#include "history/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <utility>

#include "core/error.h"

namespace etprof {
namespace {

Error Damaged(const std::filesystem::path& file, std::string_view reason) {
  return Error(ExitCode::kBadInput, fmt::format("is damaged: {}", reason))
      .InFile(file.string())
      .Remedy("restore it from a copy, or add the runs again to a new file");
}

}  // namespace

Database::Database(std::filesystem::path file, Mode mode, double busy_seconds) : file_(std::move(file)) {
  const int flags = mode == Mode::kRead    ? SQLITE_OPEN_READONLY
                    : mode == Mode::kWrite ? SQLITE_OPEN_READWRITE
                                           : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  int code = sqlite3_open_v2(file_.c_str(), &handle_, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  // A file that may not be written is opened all the same.
  if (code == SQLITE_OK && mode != Mode::kRead && sqlite3_db_readonly(handle_, "main") == 1)
    code = SQLITE_READONLY;
  if (code != SQLITE_OK) {
    try {
      Fail(code);
    } catch (...) {
      sqlite3_close(handle_);
      throw;
    }
  }
  sqlite3_extended_result_codes(handle_, 1);
  sqlite3_busy_timeout(handle_, static_cast<int>(1000 * busy_seconds));
}

Database::~Database() { sqlite3_close(handle_); }

void Database::Execute(const char* sql) {
  if (const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr); code != SQLITE_OK) Fail(code);
}

void Database::RequireWhole() {
  Statement check(*this, "PRAGMA quick_check(1)");
  if (check.Step() && check.Text(0) != "ok") throw Damaged(file_, check.Text(0));
}

std::int64_t Database::LastRowId() const { return sqlite3_last_insert_rowid(handle_); }

void Database::Fail(int code) const {
  const std::string reason = handle_ != nullptr ? sqlite3_errmsg(handle_) : sqlite3_errstr(code);
  const int primary = code & 0xff;
  if (primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB) {
    throw Damaged(file_, reason);
  }
  if (primary == SQLITE_BUSY || primary == SQLITE_LOCKED) {
    throw Error(ExitCode::kDeviceFailed, "is in use: another process writes to it")
        .InFile(file_.string())
        .Remedy("try again once that has ended");
  }
  if (primary == SQLITE_FULL || code == SQLITE_IOERR_WRITE) {
    throw Error(ExitCode::kDeviceFailed, "cannot be written: no space is left. Its content is unchanged")
        .InFile(file_.string())
        .Remedy("free some space, and repeat the command");
  }
  if (primary == SQLITE_READONLY || primary == SQLITE_PERM) {
    throw Error(ExitCode::kDeviceFailed, "cannot be written: permission denied")
        .InFile(file_.string())
        .Remedy("make it and its folder writable, or name another file with `--history FILE`");
  }
  throw Error(ExitCode::kDeviceFailed, fmt::format("cannot be used: {}", reason))
      .InFile(file_.string())
      .Remedy("check the disk, or name another file with `--history FILE`");
}

Statement::Statement(Database& database, std::string_view sql) : database_(database) {
  const int code =
      sqlite3_prepare_v2(database.handle(), sql.data(), static_cast<int>(sql.size()), &statement_, nullptr);
  if (code != SQLITE_OK) database.Fail(code);
}

Statement::~Statement() { sqlite3_finalize(statement_); }

void Statement::BindAt(int place, const std::string& text) {
  sqlite3_bind_text(statement_, place, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
}
void Statement::BindAt(int place, std::int64_t number) { sqlite3_bind_int64(statement_, place, number); }
void Statement::BindAt(int place, double number) { sqlite3_bind_double(statement_, place, number); }

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
