#include "format/delegates/delegate.h"

#include <algorithm>

namespace etprof::delegates {

const Delegate* FindDelegate(std::string_view backend) {
  const auto found = std::ranges::find(kDelegates, backend, &Delegate::backend);
  return found == kDelegates.end() ? nullptr : *found;
}

Writers PossibleWriters(const Event& event) {
  Writers writers;
  for (std::size_t i = 0; i < kDelegates.size(); ++i)
    writers[i] = kDelegates[i]->writes != nullptr && kDelegates[i]->writes(event);
  return writers;
}

void Evidence::Add(Writers writers) {
  writers_of_any_ |= writers;
  writers_of_all_ &= writers;
}

const Delegate* Evidence::Owner() const {
  const Delegate* owner = nullptr;
  for (std::size_t i = 0; i < kDelegates.size(); ++i) {
    if (!writers_of_any_[i] || !(kDelegates[i]->one_event_identifies_call || writers_of_all_[i])) continue;
    if (owner != nullptr) return nullptr;
    owner = kDelegates[i];
  }
  return owner;
}

bool Evidence::MayBeWrittenBy(const Delegate& delegate) const {
  if (const Delegate* const owner = Owner()) return owner == &delegate;
  if (delegate.writes == nullptr || delegate.one_event_identifies_call) return true;
  const auto index = std::ranges::find(kDelegates, &delegate) - kDelegates.begin();
  return writers_of_any_[static_cast<std::size_t>(index)];
}

bool IsDelegateEventName(std::string_view framework_name) {
  return std::ranges::any_of(kDelegates, [&](const Delegate* delegate) {
    return delegate->writes_as_framework && delegate->writes({framework_name});
  });
}

EventMeaning Interpret(const Delegate* delegate, const Event& event) {
  if (delegate != nullptr) return delegate->interpret(event);
  return {ValueKind::kUnknown, "", std::string(event.name)};
}

}  // namespace etprof::delegates
