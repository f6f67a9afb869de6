#include "frontend/aten/Table.h"

#include <cmath>
#include <limits>

namespace headrace::aten {

static double scaleOf(Call &c, Node query) {
  if (c.has("scale"))
    return c.number("scale");
  auto depth = known(c.b.shape(query).back());
  if (!depth)
    c.unsupported("attention of a dynamic depth");
  return 1 / std::sqrt(static_cast<double>(*depth));
}

/// A mask of flags as what is added to the scores.
static std::optional<Node> biasOf(Call &c, Node query) {
  auto mask = c.optionalTensor("attn_mask");
  if (!mask)
    return {};
  DType type = c.type(query);
  if (c.type(*mask) == DType::Bool)
    return c.select(*mask, 0, -std::numeric_limits<double>::infinity(), type);
  return c.b.cast(*mask, type);
}

/// A query whose keys are all masked gets 0, and so do its gradients.
static Node attended(Call &c, Node query, Node key, Node value) {
  c.require(c.rank(query) >= 2, "matrices of queries, keys and values");
  auto bias = biasOf(c, query);
  return c.b.attention(query, key, value, bias, scaleOf(c, query), c.flag("is_causal", false),
                       bias.has_value());
}

static Value attention(Call &c) {
  if (c.number("dropout_p", 0) != 0)
    c.unsupported("dropout inside of attention");
  return List{attended(c, c.tensor("query"), c.tensor("key"), c.tensor("value")), {}};
}

/// Heads of keys and values, each for several heads of queries.
static Node repeatedHeads(Call &c, Node x, const Size &heads) {
  Sizes shape = c.b.shape(x);
  c.require(shape.size() >= 3, "heads");
  size_t axis = shape.size() - 3;
  auto own = known(shape[axis]), wanted = known(heads);
  if (!own || !wanted)
    c.unsupported("attention with a dynamic number of heads");
  if (*own == *wanted)
    return x;
  c.require(*own > 0 && *wanted % *own == 0, "heads of keys that divide those of queries");
  Sizes wide = shape;
  wide.insert(wide.begin() + static_cast<int64_t>(axis) + 1, *wanted / *own);
  shape[axis] = heads;
  Node apart = c.unsqueeze(x, {static_cast<int64_t>(axis) + 1});
  return c.b.reshape(c.b.broadcast(apart, wide), shape);
}

static Value scaledDotProduct(Call &c) {
  if (c.number("dropout_p", 0) != 0)
    c.unsupported("dropout inside of attention");
  Node query = c.tensor("query"), key = c.tensor("key"), value = c.tensor("value");
  if (c.flag("enable_gqa", false)) {
    c.require(c.rank(query) >= 3, "heads");
    Size heads = c.b.shape(query).at(c.rank(query) - 3);
    key = repeatedHeads(c, key, heads), value = repeatedHeads(c, value, heads);
  }
  return attended(c, query, key, value);
}

Operators attentionOperators() {
  return {
      {"_scaled_dot_product_flash_attention_for_cpu", attention},
      {"scaled_dot_product_attention", scaledDotProduct},
  };
}

} // namespace headrace::aten
