#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace etprof {

// SQLite, as little of it as the history needs. What SQLite reports is thrown as Error that names the file:
// kDeviceFailed where it could not be written or is in use, kBadInput where it is damaged.
class Database {
 public:
  enum class Mode { kRead, kWrite, kCreate };
  // Waits for another process that writes for up to `busy_seconds`.
  Database(std::filesystem::path file, Mode mode, double busy_seconds = 60);
  Database(Database&&) = delete;
  ~Database();

  void Execute(const char* sql);
  // Throws where any page is damaged. Reads all of the file.
  void RequireWhole();
  std::int64_t LastRowId() const;
  sqlite3* handle() const { return handle_; }
  [[noreturn]] void Fail(int code) const;

 private:
  std::filesystem::path file_;
  sqlite3* handle_ = nullptr;
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
