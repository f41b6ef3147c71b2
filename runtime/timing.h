// SPDX-License-Identifier: Apache-2.0
#pragma once

// Device time of launches, without what the host spends on them: they are recorded once as a CUDA
// graph, and its replays are timed by events. For benchmarks. The device's context must be current
// as long as any of these live.

#include "runtime/driver.h"
#include "support/status.h"

#include <functional>
#include <memory>
#include <vector>

namespace kiln {

// What the driver handed out, and the function that takes it back.
template <typename Object>
using DriverHandle = std::unique_ptr<Object, CUresult (*)(Object*)>;

using Stream = DriverHandle<CUstream_st>;

// unavailable: a driver without streams, events or graphs.
Result<Stream> make_stream(const Driver& driver);

class GraphTimer {
 public:
  // Launches number `index` on `stream`.
  using LaunchOne = std::function<Status(CUstream stream, int index)>;
  // Launches 0 to count - 1. `driver` and `stream` must outlive the timer.
  static Result<GraphTimer> record(const Driver& driver,
                                   const Stream& stream,
                                   int count,
                                   const LaunchOne& launch_one);

  // Replays, and returns the mean time of a launch. Blocks.
  Result<double> launch_us() const;

 private:
  using Graph = DriverHandle<CUgraphExec_st>;
  using Event = DriverHandle<CUevent_st>;
  GraphTimer(const Driver& driver, CUstream stream, int count, Graph graph, Event start, Event stop)
      : driver_(&driver),
        stream_(stream),
        count_(count),
        graph_(std::move(graph)),
        start_(std::move(start)),
        stop_(std::move(stop)) {}
  static Result<Event> make_event(const Driver& driver);
  Status replay() const;

  const Driver* driver_;
  CUstream stream_;
  int count_;
  Graph graph_;
  Event start_;
  Event stop_;
};

// Of an odd number the one in the middle; of none 0.
double median(std::vector<double> values);

}  // namespace kiln
