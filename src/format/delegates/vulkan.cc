#include "core/text/text.h"
#include "format/delegates/delegate.h"

// The Vulkan backend writes events in backends/vulkan/runtime/VulkanBackend.cpp, VulkanBackend::execute: host
// spans "ETVK_...", and for each dispatch the GPU's timestamps in ns, named {kernel, "dispatch_id": 3}, which
// is not JSON, because the kernel has neither key nor quotes. Earlier versions use the name kernel_3. The
// GPU's clock has another origin. The WebGPU backend registers as "VulkanBackend", too.
namespace etprof::delegates {
namespace {

constexpr std::string_view kDispatchKey = "\"dispatch_id\":";

bool IsVulkanEvent(const Event& event) {
  return !event.has_integer_id &&
         (event.name.starts_with("ETVK_") ||
          (event.name.starts_with('{') && event.name.find(kDispatchKey) != std::string_view::npos));
}

// Formats `{conv2d_pw_tile_float, "dispatch_id": 3}` as "conv2d_pw_tile_float, dispatch 3". Further keys
// follow unchanged.
std::string DispatchName(std::string_view name) {
  const std::size_t comma = name.find(',');
  const std::size_t key_offset = name.find(kDispatchKey);
  if (!name.starts_with('{') || !name.ends_with('}') || key_offset == std::string_view::npos ||
      comma > key_offset)
    return std::string(name);
  const std::string_view rest = name.substr(key_offset + kDispatchKey.size());
  return std::string(name.substr(1, comma - 1)) + ", dispatch " +
         std::string(Trimmed(rest.substr(0, rest.size() - 1)));
}

EventMeaning InterpretVulkan(const Event& event) {
  if (event.name.starts_with("ETVK_")) return HostTime(event, event.name.starts_with("ETVK_COPY_"));
  return {ValueKind::kDeviceTime, "ns", DispatchName(event.name)};
}

}  // namespace

const Delegate kVulkan = {.backend = "VulkanBackend",
                          .writes = IsVulkanEvent,
                          .one_event_identifies_call = true,
                          .interpret = InterpretVulkan};

}  // namespace etprof::delegates
