// Memory that libraries' code takes in the process. The system maps sixteen pages around each one
// that runs, and keeps them: of a library as large as LLVM, loading it and compiling once leave
// tens of megabytes.
#pragma once

#include <span>
#include <string_view>

namespace headrace {

/// Takes the code of the loaded libraries whose file names begin with one of `names`, and of the
/// one that this function is in, out of the process's memory. Their files stay in the system's
/// cache, from where the pages come back as they run: a few milliseconds for a compilation. Leaves
/// a library alone whose code differs from its file, as a debugger's breakpoints make it do, and
/// all of them if the system does not tell.
void returnCodePages(std::span<const std::string_view> names);

} // namespace headrace
