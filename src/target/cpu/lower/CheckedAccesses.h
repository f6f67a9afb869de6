// Generated code in a build with the address sanitizer: it checks its reads and writes as the rest
// of the process does.
#pragma once

namespace llvm {
class Module;
namespace orc {
class LLJIT;
}
} // namespace llvm

namespace headrace {

/// Puts a check before every access of a module that is otherwise ready to become an object. To be
/// called in a sanitized build alone.
void checkAccesses(llvm::Module &code);

/// Makes the sanitizer's functions known to code that will be linked.
void defineAccessChecks(llvm::orc::LLJIT &jit);

} // namespace headrace
