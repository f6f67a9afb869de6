// The scalar functions of map bodies by the name of their operation, on the widest types.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace headrace::reference {

using FloatFunction1 = double (*)(double);
using FloatFunction2 = double (*)(double, double);
/// Operands are sign-extended from `width` bits; of the result only the low `width` bits count.
using IntegerFunction1 = int64_t (*)(int64_t, unsigned width);
using IntegerFunction2 = int64_t (*)(int64_t, int64_t, unsigned width);

/// Each returns null if the operation is not a function of this kind.
FloatFunction1 findFloatFunction1(llvm::StringRef operation);
FloatFunction2 findFloatFunction2(llvm::StringRef operation);
IntegerFunction1 findIntegerFunction1(llvm::StringRef operation);
IntegerFunction2 findIntegerFunction2(llvm::StringRef operation);

/// The low `width` bits, zero-extended or sign-extended.
uint64_t unsignedBits(int64_t value, unsigned width);
int64_t signedBits(int64_t value, unsigned width);

} // namespace headrace::reference
