// The role of an operator in fusion and in the choice of a layout. Each operator states its own.
#pragma once

namespace headrace {

/// The part an operator plays in the fused kernel it joins.
enum class FusionRole {
  /// Work of its own.
  Other,
  /// Computes every element from those at the same place: joins any kernel.
  Elementwise,
  /// Reduces many elements to each of its own: the center of a kernel.
  Anchor,
  /// Reduces rows: with element-wise work around it, a kernel that walks rows.
  Reduction,
  /// Another view of the operand's elements: moves nothing.
  View,
};

/// How an operator takes part in the choice of a layout.
struct LayoutRole {
  /// It can read its images in either layout.
  bool flexible = false;
  /// It wants them channels last.
  bool wantsLast = false;
  /// Its result has the layout of its images; otherwise it is the same in either.
  bool resultIsImage = false;
};

} // namespace headrace
