#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace headrace {

template <class Signature> class FunctionRef;

/// A callable borrowed for the duration of a call: two pointers, no allocation.
template <class Result, class... Args> class FunctionRef<Result(Args...)> {
public:
  template <class Callable>
    requires(!std::is_same_v<std::remove_cvref_t<Callable>, FunctionRef> &&
             std::is_invocable_r_v<Result, Callable &, Args...>)
  FunctionRef(Callable &&callable)
      : object(const_cast<void *>(static_cast<const void *>(std::addressof(callable)))),
        invoke([](void *object, Args... args) -> Result {
          return (*static_cast<std::remove_reference_t<Callable> *>(object))(
              std::forward<Args>(args)...);
        }) {}

  Result operator()(Args... args) const { return invoke(object, std::forward<Args>(args)...); }

private:
  void *object;
  Result (*invoke)(void *, Args...);
};

} // namespace headrace
