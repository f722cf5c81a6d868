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
    wrapped_functions[count] = {function, description};
    static constexpr auto kReplacements = Replacements::MakeTable(std::make_index_sequence<kMaxFunctions>());
    return reinterpret_cast<void*>(kReplacements[count++]);
  }

 private:
// Registers for integers and pointers: System V ABI, AMD64 supplement, 3.2.3; AAPCS64, 6.4.1. Both have eight
// registers for floating-point numbers, and pass further arguments as one word each on the stack. Passing
// more words than a function reads is harmless: they are on the caller's own stack.
#if defined(__aarch64__)
  static constexpr std::size_t kIntegerRegisters = 8;
#else
  static constexpr std::size_t kIntegerRegisters = 6;
#endif
  static constexpr std::size_t kFloatRegisters = 8;

  // Repeats T for each index of a pack.
  template <typename T, std::size_t>
  using Repeat = T;

  template <typename IntegerIndices, typename FloatIndices, typename StackIndices>
  struct ReplacementFunctions;
  template <std::size_t... integer, std::size_t... floating, std::size_t... stack>
  struct ReplacementFunctions<std::index_sequence<integer...>, std::index_sequence<floating...>,
                              std::index_sequence<stack...>> {
    using Function = CallWord (*)(Repeat<CallWord, integer>..., Repeat<double, floating>...,
                                  Repeat<CallWord, stack>...);

    // Replaces the function with this index in `wrapped_functions`.
    template <std::size_t index>
    static CallWord Run(Repeat<CallWord, integer>... integers, Repeat<double, floating>... floats,
                        Repeat<CallWord, stack>... stack_words) {
      const Call call(wrapped_functions[index].description, std::array{integers..., stack_words...});
      return reinterpret_cast<Function>(wrapped_functions[index].function)(integers..., floats...,
                                                                           stack_words...);
    }
    template <std::size_t... index>
    static constexpr std::array<Function, kMaxFunctions> MakeTable(std::index_sequence<index...>) {
      return {&Run<index>...};
    }
  };
  using Replacements = ReplacementFunctions<std::make_index_sequence<kIntegerRegisters>,
                                            std::make_index_sequence<kFloatRegisters>,
                                            std::make_index_sequence<kMaxStackWords>>;

  struct WrappedFunction {
    void* function = nullptr;
    typename Call::Function description = {};
  };
  static inline std::array<WrappedFunction, kMaxFunctions> wrapped_functions;
  static inline std::size_t count = 0;
};

}  // namespace etprof::runner
