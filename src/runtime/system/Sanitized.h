#pragma once

namespace headrace {

/// Whether this build looks for accesses outside of allocations (`./dev test-asan`). It then gives
/// every buffer an allocation of its own, of exactly its size, and generated code checks its
/// accesses as the rest does: a buffer in a shared arena could overflow into its neighbour unseen.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool checksAccesses = true;
#elif defined(__has_feature)
inline constexpr bool checksAccesses = __has_feature(address_sanitizer);
#else
inline constexpr bool checksAccesses = false;
#endif

} // namespace headrace
