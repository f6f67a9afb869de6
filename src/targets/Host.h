// The names of the target that the compiler runs on: nobody else writes them.
#pragma once

namespace headrace {

/// The CPU of this process, also the prefix of others: "cpu:x86-64-v3".
inline constexpr char hostTarget[] = "cpu";
/// Code that every CPU of the last ten years runs.
inline constexpr char portableHostTarget[] = "cpu:x86-64-v3";

} // namespace headrace
