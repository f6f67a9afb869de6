//===- Values.td - constants, sizes, checks and values passed on --------------===//
#ifndef HEADRACE_DIALECT_OPS_VALUES_TD
#define HEADRACE_DIALECT_OPS_VALUES_TD

include "dialect/ops/Operator.td"

def Hr_CheckOp : Hr_Operator<"check",
    ["getFusionRole", "gradient"],
    [AllTypesMatch<["input", "result"]>]> {
  let summary = "its input, whose elements must be allowed; moves nothing";
  let description = [{
    Some errors only data can show: an index outside its tensor, a divisor of 0, a class that does
    not exist. Operators that read by such elements are safe for any of them (they clamp) and take
    them through a check, which ends the run with an error that names `subject`, the first element
    in row-major order that is not allowed, and its position. Indices and targets lie in
    [low, high), which `bounds` gives as expressions of the symbols, or are `excepted`; divisors are
    not 0.
    ```
    %i = hr.check index %indices in affine_map<()[s0] -> (-s0, s0)> for "node 'embed' (Gather)" : tensor<4xi64>
    %y = hr.gather %table, %i {axis = 0 : i64} : ...
    ```
    It is the same at level 2: a step of the program between kernels.
  }];
  let arguments = (ins AnyRankedTensor:$input, Hr_CheckKindAttr:$kind, AffineMapAttr:$bounds,
                       StrAttr:$subject, OptionalAttr<I64Attr>:$excepted);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $kind $input `in` $bounds `for` $subject (`except` $excepted^)? attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The condition it checks; bounds depend on the symbols, and are left out.
    ::headrace::ValueCheck getCheck();
  }];
}

def Hr_ConstantOp : Hr_Operator<"constant",
    [],
    [ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "a tensor known at compile time; weights are used in place";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
}

def Hr_SizeOp : Hr_Op<"size", [Pure]> {
  let summary = "the value of a dynamic dimension, an index";
  let description = [{ `hr.size affine_map<()[s0] -> (s0 * 64)>`; stands in scalar bodies and kernels. }];
  let arguments = (ins AffineMapAttr:$expr);
  let results = (outs Index:$result);
  let assemblyFormat = "$expr attr-dict";
  let hasVerifier = 1;
}

def Hr_BitsOp : Hr_Op<"bits", [Pure]> {
  let summary = "a number as the signless integer that stores it, or such an integer as the number";
  let description = [{
    Scalar arithmetic supports signless integers and floats of at least 16 bits. This operation
    converts values of other types (unsigned, 4-bit, float8) to and from the integer that stores
    them, without a change of bits: `hr.bits %x : ui8 -> i8`. Scalar bodies of level 1 use it.
  }];
  let arguments = (ins AnyType:$input);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Hr_DetachOp : Hr_Operator<"detach", ["expand", "gradient"], [InferTypeOpAdaptor]> {
  let summary = "its input; no gradient goes through it";
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
}

#endif
