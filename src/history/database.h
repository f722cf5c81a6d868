#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/file/file.h"

struct sqlite3;
struct sqlite3_stmt;

namespace etprof {

// The 32-bit number at a byte of a file of SQLite.
std::uint32_t BigEndianAt(ByteView bytes, std::size_t offset);

// The subset of SQLite that the history needs. Errors of SQLite are thrown as Error with the file's name:
// kDeviceFailed if the file cannot be written or is in use, kBadInput if it is damaged.
//
// The file may come from an untrusted source, with side files that make SQLite delete, create, or follow
// other files. So only a regular file is opened, with at most a rollback journal that concerns this file
// alone, and the total work of all statements is bounded by the size of the file.
class Database {
 public:
  // kRead changes nothing on disk: it rolls back an interrupted transaction in a temporary copy.
  enum class Mode { kRead, kWrite, kCreate };
  // Waits up to `busy_seconds` while another process writes.
  Database(std::filesystem::path file, Mode mode, double busy_seconds = 60);
  // Opens an empty database in memory.
  Database();
  Database(Database&&) = delete;
  ~Database();

  void Execute(const char* sql);
  // Returns the first column of the first row; 0 if there is no row.
  std::int64_t QueryInteger(std::string_view sql);
  // Throws if any page is damaged. Reads the whole file.
  void RequireUndamaged();
  // Throws unless the file has exactly the tables and indices of `expected`.
  void RequireSameSchema(Database& expected);
  std::int64_t LastRowId() const;
  sqlite3* handle() const { return handle_; }
  [[noreturn]] void Fail(int code) const;

 private:
  void Open(const std::filesystem::path& path, int flags);
  void OpenRecoveredCopy(const std::filesystem::path& path);
  // Returns one line for each table, index, and other element of the schema.
  std::vector<std::string> Schema();

  std::filesystem::path file_;  // as the user named the file
  sqlite3* handle_ = nullptr;
  double busy_seconds_ = 0;
  std::uint64_t steps_ = 0,
                max_steps_ = 0;  // steps of SQLite's virtual machine, in units of kStepsPerCallback
};

// A prepared statement. Columns are counted from 0.
class Statement {
 public:
  Statement(Database& database, std::string_view sql);
  Statement(Statement&&) = delete;
  ~Statement();

  template <typename... Values>
  Statement& Bind(const Values&... values) {
    int index = 0;
    (BindAt(++index, values), ...);
    return *this;
  }
  // Returns whether there is another row.
  bool Step();
  // Steps to the end, then resets the statement for new values.
  void Run();
  void Reset();
  // Returns `read()` for each remaining row, then resets the statement.
  auto ReadRows(const auto& read) {
    std::vector<decltype(read())> rows;
    while (Step()) rows.push_back(read());
    Reset();
    return rows;
  }

  std::int64_t Integer(int column) const;
  double Real(int column) const;
  std::string Text(int column) const;
  bool IsNull(int column) const;
  std::optional<std::int64_t> MaybeInteger(int column) const;
  std::optional<double> MaybeReal(int column) const;

  void BindAt(int index, const std::string& text);
  void BindAt(int index, std::int64_t number);
  void BindAt(int index, int number) { BindAt(index, static_cast<std::int64_t>(number)); }
  void BindAt(int index, double number);
  template <typename T>
  void BindAt(int index, const std::optional<T>& value) {
    if (value) BindAt(index, *value);  // an unbound parameter is null
  }

 private:
  Database& database_;
  sqlite3_stmt* statement_ = nullptr;
};

// Makes the changes between the constructor and Commit() atomic: an exception or a kill before Commit()
// undoes all of them. Other writers wait for the transaction.
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
