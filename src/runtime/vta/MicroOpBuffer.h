// Which micro-ops are in the accelerator's buffer, so that those still there are not loaded again.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace headrace::vta {

/// Bodies are placed one behind the other; at the end of the buffer it begins anew, over the
/// oldest.
class MicroOpBuffer {
public:
  explicit MicroOpBuffer(size_t depth) : depth(depth) {}

  struct Place {
    size_t sram; ///< where the body begins in the buffer
    /// Where it is among all micro-ops of the program, if it has to be loaded from there.
    std::optional<size_t> dram;
  };
  /// The body, of at most `depth` micro-ops, is in the buffer after what this asks for.
  Place place(const std::vector<uint32_t> &body);

  /// Nothing is in the buffer any more.
  void forget();

  /// Every body once.
  const std::vector<uint32_t> &all() const { return microOps; }

private:
  size_t depth, next = 0;
  std::vector<uint32_t> microOps;
  std::map<std::vector<uint32_t>, size_t> inDram;
  std::map<std::vector<uint32_t>, size_t> resident;
  std::map<size_t, const std::vector<uint32_t> *> bySram; ///< the keys of `resident`
};

} // namespace headrace::vta
