// SPDX-License-Identifier: Apache-2.0
#include "tools/json_output.h"

namespace kiln {

Status write_json(Console& console, const Json& json) {
  return console.write_output(json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n');
}

}  // namespace kiln
