#include "runtime/vta/Contexts.h"

namespace headrace::vta {

int Contexts::fill() {
  if (fills >= count) { // at first they are all free
    stream.pop(consumer, producer);
    ++taken;
  }
  return fills++ % count;
}

int Contexts::use() {
  stream.pop(producer, consumer);
  return uses++ % count;
}

void Contexts::used() {
  stream.push(consumer, producer);
  ++freed;
}

void Contexts::drain() {
  for (; taken < freed; ++taken)
    stream.pop(consumer, producer);
}

} // namespace headrace::vta
