// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a kernel is compiled for. Real architectures only: sm_90, sm_90a (this chip's own
// instructions), sm_100f (its family). The three are different targets with different keys.
// Knows nothing of NVRTC: what a given one can compile for is Nvrtc::targets().

#include "support/compute_capability.h"
#include "support/status.h"

#include <span>
#include <string>
#include <string_view>

namespace kiln {

struct Target {
  ComputeCapability capability;
  char suffix = '\0';  // '\0', 'a' or 'f'

  auto operator<=>(const Target&) const = default;
  std::string text() const;  // "sm_90a"
};

// Whether the architecture has that suffix: 'a' from 9.0 on, 'f' from 10.0 on, none always.
bool has_suffix(ComputeCapability capability, char suffix);

// sm_XYa for compute capability 9.0 and newer, sm_XY below.
Target default_target(ComputeCapability capability);

// Accepts "sm_90", "sm_90a", "sm_100f", and a bare compute capability ("90", "9.0"), which means
// its default target. invalid_argument for anything else, for a suffix that the architecture does
// not have, and for virtual architectures (compute_90).
Result<Target> parse_target(std::string_view text);

// NVRTC's number for an architecture (90 for 9.0), and back.
int architecture_number(ComputeCapability capability);
ComputeCapability capability_of(int architecture_number);

// The target to compile for on a device, given what NVRTC knows (as from nvrtcGetSupportedArchs,
// 90 for 9.0): the default target, else the newest plain one of the same major version that is not
// newer than the device. unsupported names the device's capability, what is known and the remedy.
Result<Target> target_for_device(ComputeCapability device, std::span<const int> supported);

}  // namespace kiln
