// Errors as the C interface reports them: a status, and the message of the thread's last one.
#pragma once

#include "headrace/headrace.h"
#include "runtime/system/Error.h"

#include <new>

namespace headrace::capi {

headrace_status statusOf(ErrorKind kind);
/// Keeps the message; returns the status.
headrace_status fail(headrace_status status, const char *message) noexcept;
/// The message kept last in this thread.
const char *lastErrorText();

/// No exception may leave through C.
template <class Action> headrace_status guarded(Action action) noexcept {
  try {
    action();
    return HEADRACE_OK;
  } catch (const Error &error) {
    return fail(statusOf(error.kind()), error.what());
  } catch (const std::bad_alloc &) {
    return fail(HEADRACE_OUT_OF_MEMORY, "not enough memory");
  } catch (const std::exception &error) {
    return fail(HEADRACE_INTERNAL_ERROR, error.what());
  } catch (...) {
    return fail(HEADRACE_INTERNAL_ERROR, "unknown error");
  }
}

inline void require(bool holds, const char *what) {
  if (!holds)
    throw Error(ErrorKind::InvalidArgument, what);
}

} // namespace headrace::capi
