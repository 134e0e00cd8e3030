// SPDX-License-Identifier: Apache-2.0
// What a server leaves of its cards when it ends: report.json, summary.txt and the trace, in a
// directory. Kernel thread. Errors: Error(kBadInput) for a directory or a file that cannot be
// written.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cosim/config/config.h"
#include "cosim/host/inprocess_transport.h"
#include "cosim/serve/neighbour_access.h"
#include "cosim/session/run_result.h"
#include "cosim/session/session_trace.h"
#include "traces/recording/recorder.h"

namespace spyre::cosim {

class ServedReport final : public NeighbourAccess::Listener {
 public:
  // configs: of each card; the first one's also says how to trace. program: for people, what is
  // served. inputs: files that must not be overwritten.
  ServedReport(const std::vector<RunConfig>& configs, const std::string& directory,
               const std::string& program, const std::vector<std::string>& inputs);

  // For the card of this number, and for the switch; null: no trace is asked for.
  trace::Recorder* CardRecorder(size_t card);
  trace::Recorder* SwitchRecorder();

  // Watches the cards from now on; they must live until Finish.
  void Watch(const std::vector<InProcessTransport*>& cards);
  // The COMPUTE is the next one of this correlation on the card.
  void Name(size_t card, uint64_t correlation, const std::string& name) override;
  void Slice(size_t card, const driver::vfio_user::HostSlice& slice,
             const std::string& name) override;
  // A client has gone without having said so.
  void Lost(const std::string& client) { lost_.push_back(client); }

  void Finish();

 private:
  struct Kernel {  // all launches of one name
    uint64_t launches = 0, device_ps = 0, macs = 0, read_bytes = 0, written_bytes = 0;
  };
  struct Card {
    std::unique_ptr<trace::Recorder> recorder;
    InProcessTransport* transport = nullptr;
    std::map<uint64_t, std::string> names;  // by correlation, until they ran
    std::map<const model::Job*, uint64_t> begun_ps;
    std::map<uint64_t, Kernel> ended;  // by correlation, until they are named
    std::map<std::string, Kernel> kernels;
  };

  void Job(Card& card, const model::Job& job, bool ended);
  static std::string TakeName(Card& card, uint64_t correlation);
  std::string ReportJson() const;
  std::string Summary() const;

  RunResult result_;
  std::unique_ptr<SessionTrace> trace_;
  std::unique_ptr<trace::Recorder> switch_recorder_;
  std::vector<Card> cards_;
  std::vector<std::string> lost_;
};

}  // namespace spyre::cosim
