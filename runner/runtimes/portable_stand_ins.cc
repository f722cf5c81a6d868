// Defines the symbols of PyTorch and Python that ExecuTorch's Python extension of 1.3 and 1.4 (_portable_lib)
// needs to be loaded without them. Wheels before 1.5 have no libraries for C++: the extension contains the
// runtime, its kernels, and XNNPACK. Its bindings for Python are never called here, so their symbols only
// have to exist. portable_symbols.txt lists them (`nm -D --undefined-only` of the wheels 1.3.1, 1.4.0,
// and 1.4.1, without the symbols of the C and C++ libraries and the thread pool's library). CMake makes
// ETPROF_SYMBOLS from the list.
//
// A program may reach only the BLAS functions: kernels that are not delegated call them for matrix products.
// They end the process with the reason.
#include <cstdio>
#include <cstdlib>

#define ETPROF_OBJECT(name) alignas(16) char name[256];

extern "C" {
ETPROF_SYMBOLS

[[noreturn]] static void AbortOnBlasCall() {
  std::fputs(
      "this ExecuTorch multiplies matrices that are not delegated by PyTorch's BLAS, which is not here; "
      "delegate them, or run ExecuTorch 1.5 or later\n",
      stderr);
  std::abort();
}
void sgemm_() { AbortOnBlasCall(); }
void dgemm_() { AbortOnBlasCall(); }
void cgemm_() { AbortOnBlasCall(); }
void zgemm_() { AbortOnBlasCall(); }
}
