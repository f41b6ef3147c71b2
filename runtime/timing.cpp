// SPDX-License-Identifier: Apache-2.0
#include "runtime/timing.h"

#include <algorithm>
#include <utility>

namespace kiln {
namespace {

Status check(const Driver& driver, CUresult result) {
  return driver.check(result, Code::launch_failed, "timing launches");
}

bool can_time(const DriverApi& api) {
  return api.cuStreamCreate != nullptr && api.cuStreamDestroy != nullptr &&
         api.cuStreamBeginCapture != nullptr && api.cuStreamEndCapture != nullptr &&
         api.cuEventCreate != nullptr && api.cuEventRecord != nullptr &&
         api.cuEventSynchronize != nullptr && api.cuEventElapsedTime != nullptr &&
         api.cuEventDestroy != nullptr && api.cuGraphInstantiateWithFlags != nullptr &&
         api.cuGraphLaunch != nullptr && api.cuGraphExecDestroy != nullptr &&
         api.cuGraphDestroy != nullptr;
}

// The capture ends whatever happens.
Result<DriverHandle<CUgraph_st>> capture(const Driver& driver,
                                         CUstream stream,
                                         int count,
                                         const GraphTimer::LaunchOne& launch_one) {
  const DriverApi& api = driver.api();
  KILN_TRY(check(driver, api.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED)));
  Status launched;
  for (int index = 0; index < count && launched.is_ok(); ++index)
    launched = launch_one(stream, index);
  CUgraph graph = nullptr;
  const CUresult ended = api.cuStreamEndCapture(stream, &graph);
  DriverHandle<CUgraph_st> owned(graph, api.cuGraphDestroy);
  KILN_TRY(launched);
  KILN_TRY(check(driver, ended));
  return owned;
}

}  // namespace

Result<Stream> make_stream(const Driver& driver) {
  const DriverApi& api = driver.api();
  if (!can_time(api)) {
    return failure(Code::unavailable, "this CUDA driver has no streams, events and graphs");
  }
  CUstream stream = nullptr;
  // Of the kind that waits for the default stream, which filled the buffers.
  KILN_TRY(check(driver, api.cuStreamCreate(&stream, CU_STREAM_DEFAULT)));
  return Stream(stream, api.cuStreamDestroy);
}

Result<GraphTimer> GraphTimer::record(const Driver& driver,
                                      const Stream& stream,
                                      int count,
                                      const LaunchOne& launch_one) {
  const DriverApi& api = driver.api();
  KILN_TRY_ASSIGN(const auto recorded, capture(driver, stream.get(), count, launch_one));
  CUgraphExec executable = nullptr;
  KILN_TRY(check(driver, api.cuGraphInstantiateWithFlags(&executable, recorded.get(), 0)));
  Graph graph(executable, api.cuGraphExecDestroy);
  KILN_TRY_ASSIGN(Event start, make_event(driver));
  KILN_TRY_ASSIGN(Event stop, make_event(driver));
  return GraphTimer(driver, stream.get(), count, std::move(graph), std::move(start),
                    std::move(stop));
}

Result<GraphTimer::Event> GraphTimer::make_event(const Driver& driver) {
  CUevent event = nullptr;
  KILN_TRY(check(driver, driver.api().cuEventCreate(&event, CU_EVENT_DEFAULT)));
  return Event(event, driver.api().cuEventDestroy);
}

Status GraphTimer::replay() const {
  return check(*driver_, driver_->api().cuGraphLaunch(graph_.get(), stream_));
}

Result<double> GraphTimer::launch_us() const {
  const DriverApi& api = driver_->api();
  // Keeps the device busy while the host submits what is timed; otherwise a wait for the host would
  // lie between the events.
  KILN_TRY(replay());
  KILN_TRY(check(*driver_, api.cuEventRecord(start_.get(), stream_)));
  KILN_TRY(replay());
  KILN_TRY(check(*driver_, api.cuEventRecord(stop_.get(), stream_)));
  KILN_TRY(check(*driver_, api.cuEventSynchronize(stop_.get())));
  float elapsed_ms = 0;
  KILN_TRY(check(*driver_, api.cuEventElapsedTime(&elapsed_ms, start_.get(), stop_.get())));
  return static_cast<double>(elapsed_ms) * 1000 / count_;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace kiln
