// Passes tables to other libraries by the Arrow C data and stream interfaces and their PyCapsule protocol.
// This ABI is stable and needs no library (https://arrow.apache.org/docs/format/CDataInterface.html,
// CStreamInterface.html, CDataInterface/PyCapsuleInterface.html).
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "native.h"

namespace nb = nanobind;
using namespace nb::literals;

// Declared as in the specification.
extern "C" {
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};
struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
  int (*get_next)(ArrowArrayStream*, ArrowArray*);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};
}

namespace etprof {
namespace {

constexpr std::int64_t kNullable = 2;  // ARROW_FLAG_NULLABLE
constexpr const char* kStreamCapsule = "arrow_array_stream";

struct Column {
  std::string name;
  std::string format;
  std::int64_t length = 0;
  std::int64_t null_count = 0;
  std::vector<const void*> buffers;
  std::vector<Column> children;
  std::vector<Column> dictionary;  // at most one element
};

// A table and the NumPy arrays that hold its data. The last consumer may release it on any thread.
struct Table {
  Column root;
  std::vector<nb::object> arrays;
};
using SharedTable = std::shared_ptr<const Table>;

SharedTable Share(std::unique_ptr<Table> table) {
  return {table.release(), [](const Table* unused_table) {
            if (!Py_IsInitialized()) return;  // Python has ended, and its memory is freed
            const nb::gil_scoped_acquire lock;
            delete unused_table;
          }};
}

// Data of an ArrowSchema or ArrowArray. Every child has separate data, since a consumer may move it out of
// its parent and keep it longer.
template <typename T>
struct BackingValue {
  SharedTable table;
  std::vector<T> parts;  // children, then the dictionary
  std::vector<T*> children;
  std::vector<const void*> buffers;
};

template <typename T>
void Release(T* self) {
  auto* holder = static_cast<BackingValue<T>*>(self->private_data);
  for (T& part : holder->parts) {
    if (part.release != nullptr) part.release(&part);
  }
  self->release = nullptr;
  delete holder;
}

void Fill(const Column& column, ArrowSchema& out) {
  out.format = column.format.c_str();
  out.name = column.name.c_str();
  out.flags = kNullable;
}

void Fill(const Column& column, ArrowArray& out) {
  out.length = column.length;
  out.null_count = column.null_count;
  out.n_buffers = static_cast<std::int64_t>(column.buffers.size());
}

template <typename T>
void Export(const SharedTable& table, const Column& column, T& out) {
  out = T{};
  auto holder = std::make_unique<BackingValue<T>>();
  holder->table = table;
  holder->buffers = column.buffers;
  holder->parts.resize(column.children.size() + column.dictionary.size());
  std::size_t next = 0;
  for (const Column& child : column.children) {
    Export(table, child, holder->parts[next]);
    holder->children.push_back(&holder->parts[next++]);
  }
  for (const Column& dictionary : column.dictionary) {
    Export(table, dictionary, holder->parts[next]);
    out.dictionary = &holder->parts[next++];
  }
  Fill(column, out);
  out.n_children = static_cast<std::int64_t>(holder->children.size());
  out.children = holder->children.data();
  if constexpr (std::is_same_v<T, ArrowArray>) out.buffers = holder->buffers.data();
  out.release = &Release<T>;
  out.private_data = holder.release();
}

// A stream of one batch; the stream of an empty table has no batch.
struct Stream {
  SharedTable table;
  bool done = false;
};

template <typename T>
int ExportRoot(ArrowArrayStream* self, T* out, bool is_end) {
  try {
    const auto& stream = *static_cast<Stream*>(self->private_data);
    *out = T{};
    if (!is_end) Export(stream.table, stream.table->root, *out);
    return 0;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

int GetSchema(ArrowArrayStream* self, ArrowSchema* out) { return ExportRoot(self, out, false); }

int GetNext(ArrowArrayStream* self, ArrowArray* out) {
  auto& stream = *static_cast<Stream*>(self->private_data);
  const bool is_end = std::exchange(stream.done, true) || stream.table->root.length == 0;
  return ExportRoot(self, out, is_end);
}

void ReleaseStream(ArrowArrayStream* self) {
  delete static_cast<Stream*>(self->private_data);
  self->release = nullptr;
}

// Releases the stream if no consumer has taken it out of the capsule.
void DeleteCapsule(PyObject* capsule) {
  auto* stream = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule, kStreamCapsule));
  if (stream->release != nullptr) stream->release(stream);
  delete stream;
}

using Array = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

// Reads a column from the tuple that python/etprof/arrow.py makes: name, format, length, nulls, buffers,
// dictionary, children.
Column ReadColumn(nb::handle tuple, std::vector<nb::object>& arrays) {
  const auto fields = nb::cast<nb::tuple>(tuple);
  Column column{.name = nb::cast<std::string>(fields[0]),
                .format = nb::cast<std::string>(fields[1]),
                .length = nb::cast<std::int64_t>(fields[2]),
                .null_count = nb::cast<std::int64_t>(fields[3]),
                .buffers = {},
                .children = {},
                .dictionary = {}};
  for (const nb::handle buffer : fields[4]) {
    column.buffers.push_back(buffer.is_none() ? nullptr : nb::cast<Array>(buffer).data());
    arrays.push_back(nb::borrow(buffer));
  }
  if (const nb::object dictionary = fields[5]; !dictionary.is_none())
    column.dictionary.push_back(ReadColumn(dictionary, arrays));
  for (const nb::handle child : fields[6]) column.children.push_back(ReadColumn(child, arrays));
  return column;
}

nb::object ArrowStream(const nb::list& columns, std::int64_t rows) {
  auto table = std::make_unique<Table>();
  table->root.format = "+s";
  table->root.length = rows;
  table->root.buffers = {nullptr};
  for (const nb::handle column : columns) table->root.children.push_back(ReadColumn(column, table->arrays));
  auto stream = std::make_unique<ArrowArrayStream>();
  stream->get_schema = &GetSchema;
  stream->get_next = &GetNext;
  stream->get_last_error = [](ArrowArrayStream*) -> const char* { return nullptr; };
  stream->release = &ReleaseStream;
  stream->private_data = new Stream{.table = Share(std::move(table)), .done = false};
  nb::object capsule = nb::steal(PyCapsule_New(stream.get(), kStreamCapsule, &DeleteCapsule));
  if (!capsule.is_valid()) {
    stream->release(stream.get());
    nb::raise_python_error();
  }
  stream.release();
  return capsule;
}

}  // namespace

void BindArrow(nb::module_& module) {
  module.def("arrow_stream", &ArrowStream, "columns"_a, "rows"_a,
             "An Arrow C stream of columns (name, format, length, nulls, buffers, dictionary, children), "
             "which are not copied");
}

}  // namespace etprof
