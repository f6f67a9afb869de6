// The precompiled header of tests of compiler components.
#pragma once
#include "dialect/Pch.h"

#include <gtest/gtest.h>
