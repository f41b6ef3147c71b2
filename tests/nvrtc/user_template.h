// SPDX-License-Identifier: Apache-2.0
#pragma once

// A template of the tests' own, named copy, in a directory for KILN_TEMPLATE_PATH. `body` is its
// source, and has to define user::copy<int count, unsigned gain>.

#include <fstream>
#include <string>

namespace kiln::test {

inline void write_template(const std::string& directory, const std::string& body) {
  std::ofstream(directory + "/copy.json") << R"({
    "schema": 1, "name": "copy", "description": "copies", "source": "copy.cuh",
    "entry": "user::copy", "instantiation": ["count", "gain"],
    "parameters": [{"name": "count", "type": "integer", "min": 1, "max": 64, "default": 4,
                    "description": "elements"},
                   {"name": "gain", "type": "real", "min": 0, "default": 0.5,
                    "description": "factor"}],
    "least_target": [{"target": "7.5", "reason": "any"}],
    "tuning": [],
    "arguments": [{"name": "x", "type": "pointer", "dtype": "f32", "description": "in"},
                  {"name": "y", "type": "pointer", "dtype": "f32", "output": true,
                   "description": "out"},
                  {"name": "n", "type": "int32", "min": 1, "description": "elements"}],
    "launch": {"block": 128, "grid": [{"over": "n", "per_block": 128}]}
  })";
  std::ofstream(directory + "/copy.cuh") << body;
}

}  // namespace kiln::test
