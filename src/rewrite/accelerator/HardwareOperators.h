// The operators that accelerators may have. A file says which a machine has, of which sizes and at
// what cost; their meaning stands here. Operands may have axes before those of the operator: it
// then works on each of their elements, one after the other.
#pragma once

#include "rewrite/tensor/Operators.h"

namespace headrace::rewrite {

/// VVAdd[n] VVSub[n] VVMul[n] VVMax[n]  two vectors
/// VVRelu[n] VVTanh[n] VVExp[n]   a vector
/// MVMul[r, c] MVAdd[r, c]        a matrix r x c and a vector of c: product; sum with every row
/// MMMul[m, n, k] MMAdd[m, n]     m x k with n x k; two of m x n
/// ScalarAdd ScalarMul            two scalars
/// toChip toDram toOutput         the same values, in another memory
///
/// `Vector[n]` stands for the widths of operators on vectors in rules alone.
std::span<const TensorOperator> hardwareOperators();

/// How many of the last axes one operation takes of its result: 2 for matrices, 1 for vectors, 0
/// for scalars; nothing if the name is not an operator of a machine.
std::optional<size_t> resultRank(std::string_view name);

/// The function of scalars that it applies to all elements ("add" of VVAdd); empty if it is
/// none.
std::string_view functionOf(std::string_view name);

/// Whether one of them applies this function of scalars.
bool isOfMachines(std::string_view function);

/// Multiplications with an addition in one operation of these sizes.
int64_t productsOf(std::string_view name, std::span<const int64_t> sizes);

/// Operators of tensors and of machines.
const OperatorSet &allOperators();

} // namespace headrace::rewrite
