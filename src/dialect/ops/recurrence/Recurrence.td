//===- Recurrence.td - a state that is carried from step to step ---------------===//
#ifndef HEADRACE_DIALECT_OPS_RECURRENCE_TD
#define HEADRACE_DIALECT_OPS_RECURRENCE_TD

include "dialect/ops/Operator.td"

def Hr_RecurOp : Hr_Operator<"recur", ["lowerToLinalg"],
    [IsolatedFromAbove, AttrSizedOperandSegments, InferTypeOpAdaptor]> {
  let summary = "the states after each step of a recurrence s' = f(s, x[t], weights)";
  let description = [{
    Step t, from 0 to T - 1, computes the next state from the last one, from element t along the
    first dimension of every sequence, and from the weights. The body holds `hr.compute` operators
    over these; they yield the next state. The result is [T, state...].
    ```
    %y = hr.recur(%x) from %h with(%r) : (tensor<9x2x4xf32>, tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<9x2x4xf32> {
    ^bb0(%s: tensor<2x4xf32>, %now: tensor<2x4xf32>, %w: tensor<4x4xf32>):
      %p = hr.compute(%s, %w) over ... // s * w, summed
      %n = hr.compute(%p, %now) over ... // tanh(p + now)
      hr.yield %n : tensor<2x4xf32>
    }
    ```
    LSTM, GRU and plain recurrent layers are such steps; what does not depend on the state is
    computed before, for all steps at once.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$sequences, AnyRankedTensor:$initial,
                       Variadic<AnyRankedTensor>:$weights);
  let results = (outs AnyRankedTensor:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $sequences `)` `from` $initial (`with` `(` $weights^ `)`)? attr-dict
    `:` functional-type(operands, results) $body
  }];
  let hasRegionVerifier = 1;
}

#endif
