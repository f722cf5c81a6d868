// Replacements for the PyTorch symbols that ExecuTorch's library of kernels for LLMs uses while it is loaded.
// The library (extension/llm/custom_ops/libcustom_ops_aot_lib.so of the wheel) registers each kernel twice:
// with ExecuTorch's runtime, and for export with PyTorch. The latter calls these functions, which do nothing.
// Only code that PyTorch would call uses the library's other PyTorch symbols, so they stay unresolved.
//
// Names and signatures: torch/library.h, torch/csrc/jit/frontend/function_schema_parser.h, and
// ATen/core/op_registration/infer_schema.h of PyTorch 2.13. Types passed by reference or pointer are opaque
// here.
#include <cstddef>

namespace etprof::runner {

// c10::FunctionSchema: moved from and destroyed as an object with empty strings and lists. The destructor
// makes the compiler return it in memory, as the original.
struct FunctionSchema {
  alignas(8) std::byte bytes[120] = {};
  ~FunctionSchema() {}  // NOLINT(modernize-use-equals-default)
};

// c10::UndefinedTensorImpl::_singleton: only its address is used.
extern std::byte undefined_tensor[] __asm__("_ZN3c1019UndefinedTensorImpl10_singletonE");
alignas(16) std::byte undefined_tensor[1024] = {};

// torch::jit::parseSchema(const std::string&, bool)
FunctionSchema ParseSchema(const void* text, bool allow_typevars) __asm__(
    "_ZN5torch3jit11parseSchemaERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEb");
FunctionSchema ParseSchema(const void*, bool) { return {}; }

// c10::detail::infer_schema::make_function_schema(ArrayRef<ArgumentDef>, ArrayRef<ArgumentDef>)
struct ArrayRef {
  const void* data;
  std::size_t length;
};
FunctionSchema MakeFunctionSchema(ArrayRef arguments, ArrayRef returns) __asm__(
    "_ZN3c106detail12infer_schema20make_function_schemaENS_8ArrayRefINS1_11ArgumentDefEEES4_");
FunctionSchema MakeFunctionSchema(ArrayRef, ArrayRef) { return {}; }

// torch::Library::Library(...), _def(...), and _impl(...); they return the library.
void* MakeLibrary(void* library) __asm__(
    "_ZN5torch7LibraryC1ENS0_4KindENSt7__cxx1112basic_stringIcSt11char_"
    "traitsIcESaIcEEESt8optionalIN3c1011DispatchK"
    "eyEEPKcj");
void* MakeLibrary(void* library) { return library; }
void* Define(void* library) __asm__(
    "_ZNR5torch7Library4_defEON3c1014FunctionSchemaEPNS1_12OperatorNameERKSt6vectorINS_"
    "10headeronly3TagESaIS8_EENS_17"
    "_RegisterOrVerifyE");
void* Define(void* library) { return library; }
void* Implement(void* library) __asm__(
    "_ZNR5torch7Library5_implEPKcONS_11CppFunctionENS_17_RegisterOrVerifyE");
void* Implement(void* library) { return library; }

// torch::CppFunction::~CppFunction()
void DestroyFunction(void* function) __asm__("_ZN5torch11CppFunctionD1Ev");
void DestroyFunction(void*) {}

}  // namespace etprof::runner
