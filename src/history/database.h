#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace etprof {

// SQLite, as little of it as the history needs. What SQLite reports is thrown as Error that names the file:
// kDeviceFailed where it could not be written or is in use, kBadInput where it is damaged.
//
// The file may come from somebody else, with side files that make SQLite delete, create, or follow others. So
// only a regular file is opened, with at most a rollback journal that concerns this file alone, and the work
// of all statements together is bounded by the size of the file.
class Database {
 public:
  // kRead changes nothing on disk: an interrupted transaction is rolled back in a temporary copy.
  enum class Mode { kRead, kWrite, kCreate };
  // Waits for another process that writes for up to `busy_seconds`.
  Database(std::filesystem::path file, Mode mode, double busy_seconds = 60);
  // An empty one in memory.
  Database();
  Database(Database&&) = delete;
  ~Database();

  void Execute(const char* sql);
  // The first column of the first row; 0 without one.
  std::int64_t Number(std::string_view sql);
  // Throws where any page is damaged. Reads all of the file.
  void RequireWhole();
  // Throws unless the file has exactly the tables and indices of `expected`.
  void RequireSchemaOf(Database& expected);
  std::int64_t LastRowId() const;
  sqlite3* handle() const { return handle_; }
  [[noreturn]] void Fail(int code) const;

 private:
  void Open(const std::filesystem::path& path, int flags);
  void OpenRecoveredCopy(const std::filesystem::path& path);
  // A line for each table, index, and whatever else a schema may have.
  std::vector<std::string> Schema();

  std::filesystem::path file_;  // as the user names it
  sqlite3* handle_ = nullptr;
  double busy_seconds_ = 0;
  std::uint64_t steps_ = 0, max_steps_ = 0;  // of SQLite's virtual machine, in units of kStepsOfCallback
};

// One prepared statement. Columns are read from 0.
class Statement {
 public:
  Statement(Database& database, std::string_view sql);
  Statement(Statement&&) = delete;
  ~Statement();

  template <typename... Values>
  Statement& Bind(const Values&... values) {
    int place = 0;
    (BindAt(++place, values), ...);
    return *this;
  }
  // Whether there is a row.
  bool Step();
  // To its end, then ready to be bound again.
  void Run();
  void Reset();

  std::int64_t Integer(int column) const;
  double Real(int column) const;
  std::string Text(int column) const;
  bool IsNull(int column) const;
  std::optional<std::int64_t> MaybeInteger(int column) const;
  std::optional<double> MaybeReal(int column) const;

  void BindAt(int place, const std::string& text);
  void BindAt(int place, std::int64_t number);
  void BindAt(int place, int number) { BindAt(place, static_cast<std::int64_t>(number)); }
  void BindAt(int place, double number);
  template <typename T>
  void BindAt(int place, const std::optional<T>& value) {
    if (value) BindAt(place, *value);  // else it stays null
  }

 private:
  Database& database_;
  sqlite3_stmt* statement_ = nullptr;
};

// Everything between its making and Commit() is done, or, after an exception or a kill, nothing of it. Other
// writers wait for it.
class Transaction {
 public:
  explicit Transaction(Database& database);
  Transaction(Transaction&&) = delete;
  ~Transaction();
  void Commit();

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace etprof
