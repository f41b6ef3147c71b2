// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which entries were used last, and which not for the longest time, by the indexes of both: what
// these read does not grow with the store, unless all that is old is in use. On the caller's
// connection; not verified.

#include "cache/connection.h"
#include "support/digest.h"
#include "support/status.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kiln {

struct Candidate {
  Digest key;
  std::int64_t last_used_at = 0;  // Unix time, s, 0 if never; who is used after that stays
};

// Of the entries that are not pinned at most `most` (not 0), the least recently used first. Times
// after `now` are all the present, and then in the order that they say: after a clock was set back,
// that is all there is. Within a second, hits and age decide.
Result<std::vector<Candidate>> least_recently_used(Connection& connection,
                                                   std::int64_t now,
                                                   std::size_t most);

// Keys, each once and in no order, among which are those of the `most` entries used last; of those
// used at the same time, the ones with the smaller keys.
Result<std::vector<Digest>> most_recently_used(Connection& connection, std::int64_t most);

}  // namespace kiln
