// SPDX-License-Identifier: Apache-2.0
// The main program of doctest executables that need nothing of their own.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
