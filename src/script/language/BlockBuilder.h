#pragma once

#include "script/language/Program.h"

namespace headrace::script {

/// Appends to a list of blocks; statements that follow each other share a basic block.
class BlockBuilder {
public:
  void statement(SourceLocation place, Assign assign);
  template <typename Node> void block(SourceLocation place, Node node) {
    blocks.push_back({place, std::move(node)});
  }
  BlockList take() { return std::move(blocks); }

private:
  BlockList blocks;
};

} // namespace headrace::script
