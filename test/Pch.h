// The precompiled header of tests that do without MLIR.
#pragma once
#include "runtime/Pch.h"

#include <gtest/gtest.h>
