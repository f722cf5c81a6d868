#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace etprof::runner {

using CallWord = std::uintptr_t;
inline constexpr std::size_t kMaxStackWords = 32;

// Replacements for functions, each of which makes a `Call` that lives as long as the call. The functions may
// take integers, pointers, and floating-point numbers, with up to kMaxStackWords arguments that do not fit
// into registers, and return an integer or nothing. A Call is constructed from the description of the
// replaced function (Call::Function) and from the arguments that are integers or pointers.
template <typename Call, std::size_t kMaxFunctions>
class WrappedCalls {
 public:
  static void Clear() { count = 0; }

  // Returns the replacement of `function`, or `function` itself if there are too many functions.
  static void* Wrap(void* function, const typename Call::Function& description) {
    if (count == kMaxFunctions) return function;
    wrapped[count] = {function, description};
    static constexpr auto kEntries = Signature::Entries(std::make_index_sequence<kMaxFunctions>());
    return reinterpret_cast<void*>(kEntries[count++]);
  }

 private:
// Registers for integers and pointers: System V ABI, AMD64 supplement, 3.2.3; AAPCS64, 6.4.1. Both have eight
// registers for floating-point numbers, and pass further arguments as one word each on the stack. Passing
// more words than a function reads is harmless: they are on the caller's own stack.
#if defined(__aarch64__)
  static constexpr std::size_t kWholeRegisters = 8;
#else
  static constexpr std::size_t kWholeRegisters = 6;
#endif
  static constexpr std::size_t kFloatRegisters = 8;

  template <typename T, std::size_t>
  using Same = T;

  template <typename Whole, typename Float, typename Stack>
  struct Entry;
  template <std::size_t... integer, std::size_t... real, std::size_t... stack>
  struct Entry<std::index_sequence<integer...>, std::index_sequence<real...>, std::index_sequence<stack...>> {
    using Function = CallWord (*)(Same<CallWord, integer>..., Same<double, real>...,
                                  Same<CallWord, stack>...);

    template <std::size_t index>
    static CallWord Run(Same<CallWord, integer>... integers, Same<double, real>... reals,
                        Same<CallWord, stack>... stack_words) {
      const Call call(wrapped[index].description, std::array{integers..., stack_words...});
      return reinterpret_cast<Function>(wrapped[index].function)(integers..., reals..., stack_words...);
    }
    template <std::size_t... index>
    static constexpr std::array<Function, kMaxFunctions> Entries(std::index_sequence<index...>) {
      return {&Run<index>...};
    }
  };
  using Signature =
      Entry<std::make_index_sequence<kWholeRegisters>, std::make_index_sequence<kFloatRegisters>,
            std::make_index_sequence<kMaxStackWords>>;

  struct Wrapped {
    void* function = nullptr;
    typename Call::Function description = {};
  };
  static inline std::array<Wrapped, kMaxFunctions> wrapped;
  static inline std::size_t count = 0;
};

}  // namespace etprof::runner
