// SPDX-License-Identifier: Apache-2.0
#include "runtime/flex/capture.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "runtime/flex/runtime_context.h"

namespace spyre::flex {
namespace {

void Merge(std::map<uint32_t, uint64_t>& into, const std::map<uint32_t, uint64_t>& from) {
  for (const auto& [stream, count] : from) {
    uint64_t& known = into[stream];
    known = std::max(known, count);
  }
}

// What was freed since the capture may be somebody else's.
void CheckMemory(const RuntimeContext& context, const ControlBlockRequest& request) {
  const auto check = [&](const DeviceHandle& handle) {
    if (!context.options().bounds_check || context.FindAllocation(handle)) return;
    throw BadInput("replay of a captured graph: {}: memory at {}: {}", Describe(request),
                   ToString(handle), context.WhyNotAllocated(handle));
  };
  if (request.opcode == Opcode::COMPUTE) check(request.program);
  if (request.size_bytes != 0) check(request.location);
  for (const DeviceHandle& handle : request.arguments) check(handle);
}

}  // namespace

bool Capture::Takes(uint32_t stream, const ControlBlockRequest& request) const {
  if (Has(stream)) return true;
  return request.opcode == Opcode::EVENT_WAIT && recorded_.count(request.event.get()) != 0;
}

void Capture::Add(uint32_t stream, ControlBlockRequest request) {
  const EventState* event = request.event.get();
  if (request.opcode == Opcode::EVENT_SIGNAL && recorded_.count(event) != 0) {
    throw BadInput("stream {}: Record of event '{}', which the capture has recorded already",
                   stream, event->name);
  }
  if (request.opcode == Opcode::EVENT_WAIT) {
    const auto recorded = recorded_.find(event);
    if (recorded == recorded_.end()) {
      throw BadInput(
          "stream {}: Wait of event '{}' in a capture, which it was not recorded in; a replay has "
          "no "
          "such event",
          stream, event->name);
    }
    if (!Has(stream)) Join(stream);
    Merge(clocks_[stream], recorded->second);
  }
  ++clocks_[stream][stream];
  if (request.opcode == Opcode::EVENT_SIGNAL) {
    request.event->captured = true;
    recorded_[event] = clocks_[stream];
  }
  operations_.push_back({stream, std::move(request)});
}

std::string Capture::Unjoined() const {
  const Clock& seen = clocks_.at(origin_);
  for (const auto& [stream, clock] : clocks_) {
    const auto known = seen.find(stream);
    const uint64_t reached = known == seen.end() ? 0 : known->second;
    const uint64_t enqueued = clock.at(stream);
    // What comes last may be the record that the first stream waits for.
    if (reached < enqueued) {
      return fmt::format("stream {} has {} operations of which stream {} has waited for {}", stream,
                         enqueued, origin_, reached);
    }
  }
  return "";
}

struct CapturedGraph::Contents {
  explicit Contents(RuntimeContext& its_context) : context(its_context) {}
  ~Contents() {
    const auto lock = context.Enter();
    for (const driver::IoAddress address : mapped) context.device().UnmapHost(address);
    for (const auto& [captured, own] : streams) {
      if (context.HasStream(own)) context.DestroyStream(own);
    }
  }
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;

  RuntimeContext& context;
  uint32_t origin = 0;
  std::vector<CapturedOperation> operations;
  std::vector<driver::IoAddress> mapped;  // for as long as this lives
  std::map<uint32_t, uint32_t> streams;   // captured, but for the origin -> the graph's own
};

CapturedGraph::CapturedGraph(std::shared_ptr<Contents> contents) : contents_(std::move(contents)) {}
CapturedGraph::CapturedGraph(CapturedGraph&&) noexcept = default;
CapturedGraph& CapturedGraph::operator=(CapturedGraph&&) noexcept = default;
CapturedGraph::~CapturedGraph() = default;

size_t CapturedGraph::size() const { return contents_->operations.size(); }

void CapturedGraph::Launch(FlexStream& stream) const {
  RuntimeContext& context = contents_->context;
  if (&stream.context() != &context) {
    throw BadInput("replay of a captured graph on stream {} of another context",
                   stream.stream_index());
  }
  const RuntimeContext::Batch batch(context);
  const RuntimeContext::HostSlice slice(context, stream.stream_index(), "Launch graph");
  const auto target = [&](uint32_t captured) {
    return captured == contents_->origin ? stream.stream_index() : contents_->streams.at(captured);
  };
  const auto check = [&](const FlexStream& used) {
    used.CheckAlive("Launch graph");
    if (const auto error = context.ErrorOf(used.stream_index())) {
      throw DeviceFault("stream {}: replay of a captured graph refused: {}", used.stream_index(),
                        error->message);
    }
  };
  check(stream);
  for (const auto& [captured, own] : contents_->streams) check(context.Stream(own));
  for (const CapturedOperation& operation : contents_->operations) {
    CheckMemory(context, operation.request);
  }
  std::map<const EventState*, std::shared_ptr<EventState>> events;
  for (const CapturedOperation& operation : contents_->operations) {
    ControlBlockRequest request = operation.request;
    if (request.event != nullptr) {
      std::shared_ptr<EventState>& event = events[request.event.get()];
      if (event == nullptr) {
        event = std::make_shared<EventState>();
        event->name = request.event->name;
        event->epoch = context.scheduler().epoch();
      }
      request.event = event;
    }
    // What is mapped and kept alive is the graph's, until the last replay has completed.
    request.keep_alive = contents_;
    context.QueueOperation(target(operation.stream), std::move(request));
  }
}

void RuntimeContext::BeginCapture(const FlexStream& stream) {
  const auto lock = Enter();
  if (capture_) {
    throw BadInput("stream {}: a capture is under way already, on stream {}", stream.stream_index(),
                   capture_->origin());
  }
  stream.CheckAlive("BeginCapture");
  capture_ = std::make_unique<Capture>(stream.stream_index());
}

CapturedGraph RuntimeContext::EndCapture(const FlexStream& stream) {
  const auto lock = Enter();
  if (!capture_ || capture_->origin() != stream.stream_index()) {
    throw BadInput("stream {}: EndCapture, but {}", stream.stream_index(),
                   capture_ ? fmt::format("the capture began on stream {}", capture_->origin())
                            : "no capture is under way");
  }
  const std::unique_ptr<Capture> capture = std::move(capture_);
  auto contents = std::make_shared<CapturedGraph::Contents>(*this);
  contents->origin = capture->origin();
  contents->operations = capture->Take();
  for (CapturedOperation& operation : contents->operations) {
    if (std::exchange(operation.request.unmap, false)) {
      contents->mapped.push_back(operation.request.host_address);
    }
  }
  if (const std::string unjoined = capture->Unjoined(); !unjoined.empty()) {
    throw BadInput("stream {}: EndCapture: {}; it must wait for all of them", stream.stream_index(),
                   unjoined);
  }
  for (const CapturedOperation& operation : contents->operations) {
    if (operation.stream == contents->origin || contents->streams.count(operation.stream) != 0) {
      continue;
    }
    contents->streams[operation.stream] = NewStream().stream_index();
  }
  return CapturedGraph(std::move(contents));
}

}  // namespace spyre::flex
