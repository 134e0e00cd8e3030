// SPDX-License-Identifier: Apache-2.0
#include "model/control/fast_launches.h"

#include <algorithm>
#include <cmath>

#include "base/ranges.h"
#include "model/common/transfer.h"
#include "model/contract/memory_map.h"

namespace spyre::model {

namespace {

// Programs that execute more are simulated whole. A second of the host's time, and minutes on the
// card.
constexpr uint64_t kMaxSurveyed = 100'000'000;
constexpr size_t kMaxParts = 64;
constexpr int kLooks = 1000;     // at a launch that is simulated whole
constexpr int kMostParts = 200;  // of which a span is one

uint64_t Scaled(uint64_t value, double factor) {
  return static_cast<uint64_t>(static_cast<double>(value) * factor);
}

UnitStatistics Scaled(UnitStatistics unit, double factor) {
  for (uint64_t* counter : {&unit.busy_ps, &unit.bytes, &unit.requests, &unit.waited_ps}) {
    *counter = Scaled(*counter, factor);
  }
  for (uint64_t& lost : unit.lost_ps) lost = Scaled(lost, factor);
  return unit;
}

bool MarksSteps(const Program& program) {
  return AnyFits(program.sections, [](const Section& section) {
    return AnyFits(section.code, [](const Instruction& in) { return in.op == Op::kMark; });
  });
}

std::array<uint64_t, 3> Kinds(const ProgramWork& work) {
  return {work.bytes_read, work.bytes_written, work.macs};
}

void Append(std::string& key, uint64_t value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

FastLaunches::FastLaunches(const CardConfig& config, const Mmu& mmu, std::function<Units()> units)
    : config_(config), mmu_(mmu), units_(std::move(units)) {}

std::string FastLaunches::KeyOf(const Job& job, const std::vector<uint8_t>& image) {
  const std::vector<uint64_t>& table = job.program->address_table;
  const uint32_t at = ReadImageHeader(image.data(), image.size()).address_table_offset;
  std::string key(reinterpret_cast<const char*>(image.data()), at);
  for (size_t i = 0; i < table.size(); ++i) {
    const bool address = i % kTableEntriesPerTensor == 0;
    Append(key, address ? table[i] % kMaxBurstBytes : table[i]);
  }
  key.append(reinterpret_cast<const char*>(image.data()) + at + table.size() * sizeof(uint64_t),
             image.size() - at - table.size() * sizeof(uint64_t));
  for (const PhysicalRange& segment : job.segments) Append(key, segment.base % kMaxBurstBytes);
  return key;
}

FastLaunches::Price& FastLaunches::PriceOf(const Job& job, const std::vector<uint8_t>& image) {
  std::string key = KeyOf(job, image);
  Price& price = Surveyed(key, job);
  if (!price.survey || !price.survey->needs_table) return price;
  for (const uint64_t entry : job.program->address_table) Append(key, entry);
  return Surveyed(key, job);
}

FastLaunches::Price& FastLaunches::Surveyed(const std::string& key, const Job& job) {
  Price& price = prices_[key];
  if (!price.surveyed) {
    price.survey = SurveyProgram(*job.program, {config_.core.lx_bytes, config_.lx_usable_bytes()},
                                 kMaxSurveyed);
    price.surveyed = true;
  }
  return price;
}

bool FastLaunches::CannotFault(const Price& price, const Job& job) const {
  return price.survey && price.survey->sound &&
         ReachesOnly(*price.survey, job.program->address_table,
                     [&](uint64_t address, uint64_t bytes, bool write) {
                       const uint8_t permission = write ? kPermissionWrite : kPermissionRead;
                       return mmu_.Translate(job.function, job.segments, address, bytes, permission)
                                  .status == Status::OK;
                     });
}

bool FastLaunches::Repeat(Job& job, const std::vector<uint8_t>& image) {
  price_ = &PriceOf(job, image);
  const Price& price = *price_;
  whole_ = !CannotFault(price, job);
  if (whole_ || price.samples < config_.fast.samples) return false;
  const uint64_t begin = NowPs();
  const uint64_t mean = price.sum_ps / price.samples;
  const double stretch =
      static_cast<double>(mean) / static_cast<double>(std::max<uint64_t>(price.last_ps, 1));
  const auto wait_until = [&](uint64_t ps) {
    if (ps > NowPs() && !job.aborted) sc_core::wait(Ps(ps - NowPs()), job.abort);
  };
  for (const Part& part : price.parts) {
    wait_until(begin + Scaled(part.begin_ps, stretch));
    if (job.aborted) return true;
    if (part.marked && job.on_step) job.on_step(part.step, part.iteration);
    Add(part.units);
  }
  wait_until(begin + mean);
  job.bytes_read += price.done.bytes_read;
  job.bytes_written += price.done.bytes_written;
  job.macs += price.done.macs;
  job.fp16_macs += price.done.fp16_macs;
  SetPath(job, price.path, stretch);
  ++statistics_.repeated;
  statistics_.repeated_ps += NowPs() - begin;
  return true;
}

void FastLaunches::Begin(Job& job) {
  parts_.assign(1, {});
  part_before_ = Read();
  read_before_ = job.bytes_read;
  points_.clear();
  if (!MarksSteps(*job.program)) {
    next_look_ = 0;
    if (!whole_) job.on_progress = [this, &job] { Look(job); };
    return;
  }
  job.on_step = [this, &job, told = job.on_step](uint32_t step, uint64_t iteration) {
    if (parts_.size() <= kMaxParts) {
      const Units now = Read();
      ClosePart(now);
      part_before_ = now;
      parts_.push_back({true, step, iteration, NowPs() - job.units_start_ps, {}});
    }
    if (told) told(step, iteration);
  };
}

FastLaunches::Shares FastLaunches::Done(const Job& job) const {
  const std::array<uint64_t, 3> done = {job.bytes_read - read_before_, job.bytes_written, job.macs};
  const std::array<uint64_t, 3> total = Kinds(price_->survey->work);
  Shares shares;
  int kinds = 0;
  for (size_t i = 0; i < done.size(); ++i) {
    if (total[i] == 0) continue;
    shares.of[i] = static_cast<double>(done[i]) / static_cast<double>(total[i]);
    shares.mean += shares.of[i];
    ++kinds;
  }
  shares.mean /= std::max(kinds, 1);
  return shares;
}

void FastLaunches::Look(Job& job) {
  if (job.aborted) return;
  const Shares done = Done(job);
  if (done.mean < next_look_) return;
  next_look_ = done.mean + 1.0 / kLooks;
  points_.push_back({done, static_cast<double>(NowPs() - job.units_start_ps)});
  const double most = (done.mean - points_.front().done.mean) / 3;
  for (int parts = kMostParts; parts > 1; --parts) {
    const double span = 1.0 / parts;
    if (span > most) break;
    whole_ps_ = Extrapolated(span);
    if (whole_ps_ == 0) continue;
    job.Stop();
    return;
  }
}

FastLaunches::Point FastLaunches::At(double mean) const {
  const auto after =
      std::lower_bound(points_.begin(), points_.end(), mean,
                       [](const Point& point, double value) { return point.done.mean < value; });
  if (after == points_.begin()) return points_.front();
  if (after == points_.end()) return points_.back();
  const Point& from = *(after - 1);
  const double part = (mean - from.done.mean) / (after->done.mean - from.done.mean);
  const auto between = [part](double a, double b) { return a + (b - a) * part; };
  Point point{{}, between(from.ps, after->ps)};
  for (size_t i = 0; i < point.done.of.size(); ++i)
    point.done.of[i] = between(from.done.of[i], after->done.of[i]);
  point.done.mean = mean;
  return point;
}

double FastLaunches::Extrapolated(double span) const {
  const double tolerance = static_cast<double>(config_.fast.tolerance_percent) / 100;
  const double end = points_.back().done.mean;
  const Point middle = At(end - span);
  const double span_ps = points_.back().ps - middle.ps;
  if (span_ps < static_cast<double>(config_.fast.steady_us) * 1e6) return 0;
  const std::array<uint64_t, 3> total = Kinds(price_->survey->work);
  for (size_t i = 0; i < total.size(); ++i) {
    const double share = points_.back().done.of[i] - middle.done.of[i];
    if (total[i] > 0 && std::abs(share - span) > tolerance * span) return 0;
  }
  for (auto point = points_.rbegin(); point->done.mean > end - 2 * span; ++point) {
    const double lag = point->ps - At(point->done.mean - span).ps;
    if (std::abs(lag - span_ps) > tolerance * span_ps) return 0;
  }
  // The whole lies a number of spans behind a point of the last one.
  const double spans = std::ceil((1 - end) / span);
  return At(1 - spans * span).ps + spans * span_ps;
}

void FastLaunches::End(Job& job) {
  job.on_progress = nullptr;
  const uint64_t begin = job.units_start_ps;
  const uint64_t stopped_at = NowPs();
  if (job.stopped && job.status == Status::OK) {
    // Faults and resets count again from here on.
    job.aborted = job.stopped = false;
    const double factor = 1 / points_.back().done.mean;
    const uint64_t end = std::max(stopped_at, begin + static_cast<uint64_t>(whole_ps_));
    if (end > stopped_at) sc_core::wait(Ps(end - stopped_at), job.abort);
    if (job.status != Status::OK) return;
    Units rest = Since(Read(), part_before_);
    for (UnitStatistics& unit : rest) unit = Scaled(unit, factor - 1);
    Add(rest);
    const ProgramWork& work = price_->survey->work;
    job.bytes_read = read_before_ + work.bytes_read;
    job.bytes_written = work.bytes_written;
    if (job.macs > 0) {
      job.fp16_macs =
          Scaled(job.fp16_macs, static_cast<double>(work.macs) / static_cast<double>(job.macs));
    }
    job.macs = work.macs;
    SetPath(job, job.end_path.Since(job.start_path), factor);
    ++statistics_.partly;
    statistics_.partly_ps += NowPs() - begin;
    statistics_.simulated_ps += stopped_at - begin;
  } else if (job.status == Status::OK) {
    ++statistics_.whole;
    statistics_.whole_ps += NowPs() - begin;
  } else {
    return;
  }
  ClosePart(Read());
  if (parts_.size() > kMaxParts) return;
  Price& price = *price_;
  const uint64_t ps = NowPs() - begin;
  ++price.samples;
  price.sum_ps += ps;
  price.least_ps = std::min(price.least_ps, ps);
  price.most_ps = std::max(price.most_ps, ps);
  price.last_ps = ps;
  price.done = {job.bytes_read - read_before_, job.bytes_written, job.macs, job.fp16_macs};
  price.path = job.end_path.Since(job.start_path);
  price.parts = std::move(parts_);
  statistics_.spread =
      std::max(statistics_.spread, static_cast<double>(price.most_ps - price.least_ps) /
                                       static_cast<double>(std::max<uint64_t>(price.least_ps, 1)));
}

void FastLaunches::SetPath(Job& job, PathTime path, double factor) {
  path.Scale(factor);
  job.end_path = job.start_path;
  job.end_path.Add(path);
  job.end_path.at_ps = NowPs();
}

FastLaunches::Units FastLaunches::Read() const {
  Units all = units_();
  for (size_t i = 0; i < extra_.size(); ++i) all[i].Add(extra_[i]);
  return all;
}

void FastLaunches::Add(const Units& more) {
  if (extra_.empty()) {
    extra_ = more;
    return;
  }
  for (size_t i = 0; i < extra_.size(); ++i) extra_[i].Add(more[i]);
}

FastLaunches::Units FastLaunches::Since(const Units& now, const Units& before) {
  Units since;
  since.reserve(now.size());
  for (size_t i = 0; i < now.size(); ++i) since.push_back(now[i].Since(before[i]));
  return since;
}

void FastLaunches::ClosePart(const Units& now) { parts_.back().units = Since(now, part_before_); }

}  // namespace spyre::model
