// Memory that compiling leaves behind and running does not need.
#pragma once

#include <cstddef>

namespace headrace {

/// So many bytes of constants make up for the milliseconds that returning memory takes.
inline constexpr size_t worthReturningMemory = size_t{16} << 20;

/// Gives the system freed memory back, and the pages of the compiler's code.
void returnCompilerMemory();

/// Once in a process, before it first compiles: gives back the pages of code that only loading the
/// libraries ran, whose static objects are all over it.
void forgetLoadedCode();

} // namespace headrace
