#include "explore/Simulator.h"

#include "explore/Graphs.h"

namespace headrace::explore::test {
namespace {

} // namespace
} // namespace headrace::explore::test
