#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace etprof::runner {

using CallWord = std::uintptr_t;
inline constexpr std::size_t kMaxStackWords = 32;

// Replacements for functions, each of which makes a `Call` that lives as long as the call. The functions may
// take integers, pointers, and floating-point numbers, with up to kMaxStackWords arguments that do not fit
// into registers, and return an integer or nothing. A Call is made from the Call::Function of the replaced
// function and from the arguments that are integers or pointers.
template <typename Call, std::size_t kMaxFunctions>
class WrappedCalls {
 public:
  static void Clear() { count = 0; }

  // Returns the replacement of `function`; `function` itself if there are too many functions.
  static void* Wrap(void* function, const typename Call::Function& about) {
    if (count == kMaxFunctions) return function;
    wrapped[count] = {function, about};
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
  template <std::size_t... whole, std::size_t... number, std::size_t... stack>
  struct Entry<std::index_sequence<whole...>, std::index_sequence<number...>, std::index_sequence<stack...>> {
    using Function = CallWord (*)(Same<CallWord, whole>..., Same<double, number>...,
                                  Same<CallWord, stack>...);

    template <std::size_t index>
    static CallWord Run(Same<CallWord, whole>... w, Same<double, number>... n, Same<CallWord, stack>... s) {
      const Call call(wrapped[index].about, std::array{w..., s...});
      return reinterpret_cast<Function>(wrapped[index].function)(w..., n..., s...);
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
    typename Call::Function about = {};
  };
  static inline std::array<Wrapped, kMaxFunctions> wrapped;
  static inline std::size_t count = 0;
};

}  // namespace etprof::runner
