// SPDX-License-Identifier: Apache-2.0
#pragma once

// The values that the parameters of qkv_epilogue and of its reference take.

namespace kiln::qkv {

// The order of operations, named after the oracle.
enum class Recipe {
  eager_flux2,   // torch.nn.functional.rms_norm, then a rotation that rounds every operation
  eager_qwen,    // a norm of single operations, then a complex multiplication
  fp32_through,  // SGLang's fused kernel of double blocks: no rounding between norm and rotation
  fp32_rope  // SGLang's kernel of single blocks, as it adds for 2560 heads of all tokens or more
};

// Which elements of a head are rotated together: 2i and 2i + 1, or i and i + head_dim / 2.
enum class Rope { interleaved, half_split };

// What is normalized together: a head, or all heads of a token.
enum class Norm { head, all };

enum class Parts { qkv, qk };

// Which tokens come first in the joint outputs.
enum class Order { text_first, image_first };

}  // namespace kiln::qkv
