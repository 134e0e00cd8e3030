// SPDX-License-Identifier: Apache-2.0
#include "traces/export/counters.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "base/ranges.h"
#include "traces/intervals.h"
#include "traces/run_results.h"
#include "traces/text.h"

namespace spyre::trace {
namespace {

constexpr double kGigabytesPerSecond = 1e3;  // of bytes per ps
constexpr uint64_t kShortestPeriodPs = 1000;

class Curve {
 public:
  Curve(const Counters& counters, size_t periods)
      : from_ps_(counters.from_ps), period_ps_(counters.period_ps), amounts_(periods, 0.0) {}

  // `amount` at a constant rate over the time of the slice; an instant has all of it at once.
  void Add(uint64_t start_ps, uint64_t end_ps, double amount) {
    const uint64_t until_ps = from_ps_ + period_ps_ * amounts_.size();
    if (end_ps < from_ps_ || start_ps >= until_ps) return;
    if (start_ps == end_ps) {
      amounts_[(start_ps - from_ps_) / period_ps_] += amount;
      return;
    }
    const double rate = amount / static_cast<double>(end_ps - start_ps);
    uint64_t at_ps = std::max(start_ps, from_ps_);
    const uint64_t last_ps = std::min(end_ps, until_ps);
    while (at_ps < last_ps) {
      const size_t period = (at_ps - from_ps_) / period_ps_;
      const uint64_t next_ps = std::min(last_ps, from_ps_ + (period + 1) * period_ps_);
      amounts_[period] += rate * static_cast<double>(next_ps - at_ps);
      at_ps = next_ps;
    }
  }
  bool empty() const {
    return AllFit(amounts_, [](double a) { return a == 0; });
  }
  // Amounts by period as means of `scale` times the amount per ps.
  std::vector<double> Means(double scale) const {
    std::vector<double> means;
    means.reserve(amounts_.size());
    for (const double amount : amounts_)
      means.push_back(amount * scale / static_cast<double>(period_ps_));
    return means;
  }

 private:
  const uint64_t from_ps_, period_ps_;
  std::vector<double> amounts_;
};

class Builder {
 public:
  Builder(const Trace& trace, uint64_t from_ps, uint64_t to_ps, size_t periods) : trace_(trace) {
    const uint64_t span_ps = std::max<uint64_t>(to_ps - std::min(from_ps, to_ps), 1);
    out_.from_ps = from_ps;
    out_.period_ps = std::max(kShortestPeriodPs, (span_ps + periods - 1) / periods);
    periods_ = (span_ps + out_.period_ps - 1) / out_.period_ps;
  }

  Counters Build() {
    AddBytes("memory", [](const Track& track, const Record& r) {
      return r.category == kMemory && track.process == "memory";
    });
    for (const char* way : {"read", "write"}) {
      AddBytes(std::string("memory ") + way, [this, way](const Track& track, const Record& r) {
        return r.category == kMemory && track.process == "memory" && trace_.names[r.name] == way;
      });
    }
    AddUnitBytes("loads", "load");
    AddUnitBytes("stores", "store");
    AddBytes("lx", [](const Track& track, const Record& r) {
      return r.category == kCore && StartsWith(track.process, "core ") && track.name != "ring";
    });
    for (const char* way : {"upstream", "downstream"}) {
      AddBytes(std::string("pcie ") + way, [way](const Track& track, const Record& r) {
        return r.category == kPcie && track.name == way;
      });
    }
    AddBusy("ring", [](const Track& track, const Record& r) {
      return r.category == kRing && track.process == "ring";
    });
    for (const char* unit : {"pt", "vector"}) {
      AddBusy(unit, [unit](const Track& track, const Record& r) {
        return r.category == kCore && track.name == unit;
      });
    }
    AddMacs();
    AddQueueDepth();
    return std::move(out_);
  }

 private:
  template <typename Belongs>
  void AddBytes(std::string name, Belongs belongs) {
    Curve curve(out_, periods_);
    for (const Record& r : trace_.records) {
      if (r.bytes > 0 && belongs(trace_.tracks[r.track], r))
        curve.Add(r.start_ps, r.end_ps, static_cast<double>(r.bytes));
    }
    Take(std::move(name), "GB/s", curve, kGigabytesPerSecond);
  }
  void AddUnitBytes(std::string name, const char* unit) {
    AddBytes(std::move(name), [unit](const Track& track, const Record& r) {
      return r.category == kCore && track.name == unit;
    });
  }
  template <typename Belongs>
  void AddBusy(std::string name, Belongs belongs) {
    std::map<TrackId, std::vector<Interval>> tracks;
    for (const Record& r : trace_.records) {
      if (belongs(trace_.tracks[r.track], r)) tracks[r.track].push_back({r.start_ps, r.end_ps});
    }
    Curve curve(out_, periods_);
    for (auto& [track, slices] : tracks) {
      const IntervalSet busy(std::move(slices));  // slices of a unit may overlap
      for (const Interval& time : busy.intervals())
        curve.Add(time.start_ps, time.end_ps, static_cast<double>(time.end_ps - time.start_ps));
    }
    if (!tracks.empty())
      Take(std::move(name), "%", curve, 100.0 / static_cast<double>(tracks.size()));
  }
  void AddMacs() {
    const RunResults results = ParseRunResults(trace_.results);
    std::map<uint64_t, uint64_t> pt_ps;  // by flow
    const auto is_pt = [this](const Record& r) {
      return r.category == kCore && trace_.tracks[r.track].name == "pt";
    };
    for (const Record& r : trace_.records) {
      if (is_pt(r)) pt_ps[r.flow] += r.end_ps - r.start_ps;
    }
    Curve curve(out_, periods_);
    for (const Record& r : trace_.records) {
      const auto macs = is_pt(r) ? results.macs.find(r.flow) : results.macs.end();
      if (macs == results.macs.end() || pt_ps[r.flow] == 0) continue;
      curve.Add(r.start_ps, r.end_ps,
                static_cast<double>(macs->second) * static_cast<double>(r.end_ps - r.start_ps) /
                    static_cast<double>(pt_ps[r.flow]));
    }
    Take("macs", "GMAC/s", curve, 1e3);
  }
  void AddQueueDepth() {
    std::map<uint64_t, uint64_t> submitted;  // by flow
    for (const Record& r : trace_.records) {
      if (r.category == kHost && r.flow != 0 && trace_.names[r.name] == "submit")
        submitted[r.flow] = r.end_ps;
    }
    Curve curve(out_, periods_);
    for (const Record& r : trace_.records) {
      if (r.category != kControl) continue;
      const auto from = submitted.find(r.flow);
      const uint64_t start_ps =
          from == submitted.end() ? r.start_ps : std::min(from->second, r.start_ps);
      curve.Add(start_ps, r.end_ps, static_cast<double>(r.end_ps - start_ps));
    }
    Take("queue depth", "operations", curve, 1);
  }
  void Take(std::string name, const char* unit, const Curve& curve, double scale) {
    if (!curve.empty()) out_.counters.push_back({std::move(name), unit, curve.Means(scale)});
  }

  const Trace& trace_;
  Counters out_;
  size_t periods_ = 0;
};

}  // namespace

Counters CountersOf(const Trace& trace, uint64_t from_ps, uint64_t to_ps, size_t periods) {
  return Builder(trace, from_ps, to_ps, std::max<size_t>(periods, 1)).Build();
}

Counters CountersOf(const Trace& trace, size_t periods) {
  uint64_t from_ps = UINT64_MAX, to_ps = 0;
  for (const Record& r : trace.records) {
    if (r.category != kControl) continue;
    from_ps = std::min(from_ps, r.start_ps);
    to_ps = std::max(to_ps, r.end_ps);
  }
  if (from_ps > to_ps) from_ps = to_ps;
  return CountersOf(trace, from_ps, to_ps, periods);
}

}  // namespace spyre::trace
