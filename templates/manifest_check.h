// SPDX-License-Identifier: Apache-2.0
#pragma once

// Whether the parts of a manifest fit each other: every name refers to something, every condition
// can be evaluated where it stands, and every count is positive whatever the variant.

#include "support/status.h"
#include "templates/manifest.h"

namespace kiln {

// invalid_argument names the part that is wrong.
Status check_manifest(const Manifest& manifest);

}  // namespace kiln
