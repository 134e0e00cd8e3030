// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/sdsc/op_alignment.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "base/ranges.h"
#include "runtime/compiler/op_spec/spec_coordinate.h"

namespace spyre::compiler {
namespace {

constexpr int kNoSymbol = -1;  // no symbol: a dimension of size 1, or an empty stick coordinate
constexpr size_t kMaxSymbols = 16;
constexpr size_t kMaxDeviceRank = 16;
constexpr int64_t kMaxExtent = int64_t{1} << 31;
constexpr int64_t kMaxDeviceElements = int64_t{1}
                                       << 40;  // of a tensor: strides stay within 64 bits

CompileError Unsupported(const std::string& op, const std::string& what) {
  return {"Unsupported", "stick_expression", "operation '" + op + "': " + what};
}

// A device dimension that one symbol walks: coordinate = (v mod modulus) / denominator + offset.
struct Term {
  int64_t denominator = 1;
  int symbol = kNoSymbol;
  int64_t modulus = 1;
  int64_t size = 1;
  int64_t offset = 0;
};

struct AlignedTensor {
  std::vector<Term> outer;  // outermost first
  Term stick;
};

struct Aligned {
  std::vector<int64_t> size;
  std::vector<Coordinate> coordinate;
};

class Aligner {
 public:
  explicit Aligner(const OpSpec& op) : op_(op), symbols_(op.iteration_space) {}

  OpSpec Run() {
    Check();
    for (const TensorArg& arg : op_.args) {
      standing_in_use_ = 0;
      tensors_.push_back(Normalize(arg));
    }
    AddStandingSymbols();
    FindCuts();
    SplitSymbols();
    std::vector<Aligned> aligned;
    for (const AlignedTensor& tensor : tensors_) aligned.push_back(Rebuild(tensor));
    EqualizeRanks(aligned);

    OpSpec result = op_;
    result.iteration_space = OrderedSymbols();
    for (size_t i = 0; i < aligned.size(); ++i) {
      CheckElements(aligned[i].size, "aligned argument " + std::to_string(i));
      result.args[i].device_size = aligned[i].size;
      result.args[i].device_coordinates.clear();
      for (const Coordinate& coordinate : aligned[i].coordinate) {
        result.args[i].device_coordinates.push_back(ToExpression(coordinate, symbols_));
      }
    }
    return result;
  }

 private:
  void Check() const {
    if (symbols_.size() > kMaxSymbols) {
      throw Unsupported(op_.op, "more than " + std::to_string(kMaxSymbols) + " symbols");
    }
    for (const IterationSymbol& symbol : symbols_) {
      if (symbol.range < 1 || symbol.range > kMaxExtent || symbol.split < 1) {
        throw BadInput("operation '{}': symbol '{}' has range {} and split {}; both are at least 1",
                       op_.op, symbol.name, symbol.range, symbol.split);
      }
    }
    for (size_t i = 0; i < op_.args.size(); ++i) {
      const TensorArg& arg = op_.args[i];
      if (arg.device_size.size() < 2 || arg.device_size.size() > kMaxDeviceRank ||
          arg.device_coordinates.size() != arg.device_size.size()) {
        throw BadInput(
            "operation '{}', argument {}: {} device sizes and {} coordinates; they are as many, "
            "from 2 to {}",
            op_.op, i, arg.device_size.size(), arg.device_coordinates.size(), kMaxDeviceRank);
      }
      CheckElements(arg.device_size, "argument " + std::to_string(i));
    }
  }

  void CheckElements(const std::vector<int64_t>& device_size, const std::string& what) const {
    int64_t elements = 1;
    for (int64_t size : device_size) {
      if (size < 1 || size > kMaxExtent || size > kMaxDeviceElements / elements) {
        throw BadInput(
            "operation '{}', {}: device size {}; at least 1, and a tensor has at most {} "
            "elements",
            op_.op, what, size, kMaxDeviceElements);
      }
      elements *= size;
    }
  }

  int NewSymbol(int64_t range) {
    std::string name;
    do {
      name = "z" + std::to_string(new_names_++);
    } while (AnyFits(symbols_, [&](const IterationSymbol& s) { return s.name == name; }));
    if (symbols_.size() >= 2 * kMaxSymbols) throw Unsupported(op_.op, "too many symbols");
    symbols_.push_back({name, range, 1});
    return static_cast<int>(symbols_.size()) - 1;
  }

  // The symbols of range 1 serve every tensor: the first standing dimension of each takes the
  // first.
  int StandingSymbol() {
    if (standing_in_use_ == standing_.size()) standing_.push_back(NewSymbol(1));
    return standing_[standing_in_use_++];
  }

  int64_t Range(int symbol) const { return symbols_[static_cast<size_t>(symbol)].range; }

  // The step of a part is left to the caller.
  Term ToTerm(const CoordinateTerm& part) const {
    if (part.step != 1 && part.divisor != 1) {
      throw Unsupported(op_.op,
                        "coordinate with a step that is neither an integer nor a unit fraction");
    }
    if (part.modulus % part.step != 0) throw Unsupported(op_.op, "modulus within a step");
    const int64_t modulus = part.modulus == 0 ? Range(part.variable) : part.modulus / part.step;
    return {part.divisor, part.variable, modulus, 1, 0};
  }

  AlignedTensor Normalize(const TensorArg& arg) {
    AlignedTensor tensor;
    const size_t last = arg.device_size.size() - 1;
    const int64_t stick = arg.device_size[last];
    std::vector<Term> terms;
    for (size_t d = 0; d < last; ++d) {
      Coordinate coordinate = ToCoordinate(arg.device_coordinates[d], symbols_);
      if (coordinate.constant < 0 || coordinate.constant > kMaxExtent) {
        throw BadInput("operation '{}': a coordinate of {}", op_.op, coordinate.constant);
      }
      DropStillTerms(coordinate, stick);
      if (coordinate.terms.empty()) {
        if (arg.device_size[d] > 1) {
          terms.push_back({1, StandingSymbol(), 1, arg.device_size[d], coordinate.constant});
        } else if (coordinate.constant != 0) {
          throw Unsupported(op_.op, "an offset in a dimension of size 1");
        }
        continue;
      }
      Append(coordinate, arg.device_size[d], terms);
    }
    Fuse(terms);
    tensor.outer = std::move(terms);
    tensor.stick = StickTerm(arg, stick);
    return tensor;
  }

  // A stick count of one stick is always 0.
  void DropStillTerms(Coordinate& coordinate, int64_t stick) const {
    auto& terms = coordinate.terms;
    terms.erase(std::remove_if(terms.begin(), terms.end(),
                               [&](const CoordinateTerm& term) {
                                 return term.step == 1 && term.modulus == 0 &&
                                        term.divisor == stick && Range(term.variable) <= stick;
                               }),
                terms.end());
  }

  Term StickTerm(const TensorArg& arg, int64_t stick) const {
    const Coordinate coordinate = ToCoordinate(arg.device_coordinates.back(), symbols_);
    if (coordinate.terms.empty() && coordinate.constant == 0) return {1, kNoSymbol, 1, stick, 0};
    if (!IsStickCoordinate(coordinate, stick)) {
      throw Unsupported(op_.op,
                        "stick coordinate that is neither 0 nor a symbol nor one symbol "
                        "modulo the " +
                            std::to_string(stick) + " elements of a stick");
    }
    const CoordinateTerm& part = coordinate.terms.front();
    return {1, part.variable, part.modulus == 0 ? Range(part.variable) : part.modulus, stick, 0};
  }

  // A dimension with several symbols becomes one dimension for each, the slowest outermost; what
  // the fastest steps over becomes a dimension that stands still.
  void Append(const Coordinate& coordinate, int64_t size, std::vector<Term>& terms) {
    std::vector<std::pair<int64_t, Term>> parts;  // by step
    for (const CoordinateTerm& part : coordinate.terms) parts.push_back({part.step, ToTerm(part)});
    StableSort(parts, [](const auto& a, const auto& b) {
      return std::pair(a.first, a.second.modulus) < std::pair(b.first, b.second.modulus);
    });
    int64_t offset = coordinate.constant;
    int64_t outer_step = size;
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
      const auto& [step, term] = *part;
      if (outer_step % step != 0) throw Unsupported(op_.op, "steps that do not divide each other");
      terms.push_back(term);
      terms.back().size = outer_step / step;
      terms.back().offset = offset / step;
      offset %= step;
      outer_step = step;
    }
    if (outer_step > 1) terms.push_back({1, StandingSymbol(), 1, outer_step, offset});
  }

  // Neighbours that one symbol walks without a gap are one dimension.
  static void Fuse(std::vector<Term>& terms) {
    std::vector<Term> fused;
    for (const Term& term : terms) {
      if (!fused.empty() && fused.back().symbol == term.symbol &&
          fused.back().denominator == term.modulus) {
        Term& before = fused.back();
        before.offset = before.offset * term.size + term.offset;
        before.denominator = term.denominator;
        before.size *= term.size;
      } else {
        fused.push_back(term);
      }
    }
    terms = std::move(fused);
  }

  void AddStandingSymbols() {
    for (int symbol : standing_) {
      for (AlignedTensor& tensor : tensors_) {
        const bool found =
            AnyFits(tensor.outer, [&](const Term& term) { return term.symbol == symbol; });
        if (!found) tensor.outer.insert(tensor.outer.begin(), Term{1, symbol, 1, 1, 0});
      }
    }
  }

  static bool IsStickCount(const AlignedTensor& tensor, const Term& term) {
    return term.symbol == tensor.stick.symbol && term.denominator == tensor.stick.size;
  }

  // Where any tensor cuts a symbol's range, but for the cuts that sticks make.
  void FindCuts() {
    cuts_.assign(symbols_.size(), {});
    for (const AlignedTensor& tensor : tensors_) {
      std::vector<Term> terms = tensor.outer;
      if (tensor.stick.symbol != kNoSymbol) terms.push_back(tensor.stick);
      for (const Term& term : terms) {
        std::set<int64_t>& cuts = cuts_[static_cast<size_t>(term.symbol)];
        const bool of_stick = term.symbol == tensor.stick.symbol;
        if (!of_stick || term.denominator != tensor.stick.size) cuts.insert(term.denominator);
        if (!of_stick || term.modulus != tensor.stick.size) cuts.insert(term.modulus);
      }
    }
  }

  void SplitSymbols() {
    const size_t count = symbols_.size();
    parts_.resize(count);
    for (size_t s = 0; s < count; ++s) {
      parts_[s] = {static_cast<int>(s)};
      const std::vector<int64_t> cuts(cuts_[s].begin(), cuts_[s].end());
      if (cuts.size() < 2) continue;
      for (size_t i = 0; i + 1 < cuts.size(); ++i) {
        if (cuts[i + 1] % cuts[i] != 0) {
          throw Unsupported(op_.op, "tensors cut symbol '" + symbols_[s].name +
                                        "' at places that do not divide each other");
        }
        const int64_t range = cuts[i + 1] / cuts[i];
        if (i == 0) {
          symbols_[s].range = range;
        } else {
          parts_[s].push_back(NewSymbol(range));
        }
      }
      int division = symbols_[s].split;
      for (auto part = parts_[s].rbegin(); part != parts_[s].rend(); ++part) {
        IterationSymbol& symbol = symbols_[static_cast<size_t>(*part)];
        symbol.split = static_cast<int>(std::gcd<int64_t>(division, symbol.range));
        division /= symbol.split;
      }
    }
  }

  size_t CutIndex(int symbol, int64_t cut) const {
    const std::set<int64_t>& cuts = cuts_[static_cast<size_t>(symbol)];
    const auto found = cuts.find(cut);
    if (found == cuts.end()) throw Unsupported(op_.op, "a cut within a stick");
    return static_cast<size_t>(std::distance(cuts.begin(), found));
  }

  static Coordinate Bare(int symbol, int64_t offset) { return {offset, {{symbol, 1, 0, 1}}}; }

  Aligned Rebuild(const AlignedTensor& tensor) const {
    Aligned aligned;
    for (const Term& term : tensor.outer) RebuildTerm(tensor, term, aligned);
    aligned.size.push_back(tensor.stick.size);
    Coordinate stick;
    if (tensor.stick.symbol != kNoSymbol) {
      stick.terms.push_back({tensor.stick.symbol, 1, tensor.stick.size, 1});
    }
    aligned.coordinate.push_back(stick);
    return aligned;
  }

  void RebuildTerm(const AlignedTensor& tensor, const Term& term, Aligned& aligned) const {
    const auto symbol = static_cast<size_t>(term.symbol);
    const std::vector<int64_t> cuts(cuts_[symbol].begin(), cuts_[symbol].end());
    const bool stick_count =
        IsStickCount(tensor, term) && cuts_[symbol].count(term.denominator) == 0;
    const size_t low = stick_count ? 0 : CutIndex(term.symbol, term.denominator);
    const size_t high = CutIndex(term.symbol, term.modulus);
    int64_t offset = term.offset;
    if (low >= high) {
      aligned.size.push_back(term.size);
      aligned.coordinate.push_back(Bare(term.symbol, offset));
    }
    for (size_t i = high; i-- > low;) {
      const bool outermost = i + 1 == high;
      aligned.size.push_back(outermost ? term.size * term.denominator / cuts[i]
                                       : cuts[i + 1] / cuts[i]);
      aligned.coordinate.push_back(Bare(parts_[symbol].at(i), offset / cuts[i]));
      offset %= cuts[i];
    }
    if (stick_count) {
      aligned.size.back() /= term.denominator;
      aligned.coordinate.back().terms.front().divisor = term.denominator;
    }
  }

  // Every tensor gets room for a stick count.
  static void EqualizeRanks(std::vector<Aligned>& tensors) {
    size_t rank = 0;
    for (const Aligned& tensor : tensors) {
      rank = std::max(rank, tensor.size.size() + (HasStickCount(tensor) ? 0 : 1));
    }
    for (Aligned& tensor : tensors) {
      const size_t missing = rank - tensor.size.size();
      tensor.size.insert(tensor.size.begin(), missing, 1);
      tensor.coordinate.insert(tensor.coordinate.begin(), missing, Coordinate{});
      if (tensor.coordinate.back().terms.empty() || WalksStickOutside(tensor)) continue;
      for (size_t d = 0; d + 1 < rank; ++d) {
        if (!IsFree(tensor, d)) continue;
        tensor.coordinate[d].terms = {
            {tensor.coordinate.back().terms.front().variable, 1, 0, tensor.size.back()}};
        break;
      }
    }
  }

  static bool IsFree(const Aligned& tensor, size_t dimension) {
    return tensor.size[dimension] == 1 && tensor.coordinate[dimension].terms.empty() &&
           tensor.coordinate[dimension].constant == 0;
  }

  static bool WalksStickOutside(const Aligned& tensor) {
    const int stick = tensor.coordinate.back().terms.front().variable;
    return std::any_of(tensor.coordinate.begin(), tensor.coordinate.end() - 1,
                       [&](const Coordinate& coordinate) { return coordinate.Uses(stick); });
  }

  static bool HasStickCount(const Aligned& tensor) {
    if (!tensor.coordinate.back().terms.empty() && WalksStickOutside(tensor)) return true;
    for (size_t d = 0; d + 1 < tensor.size.size(); ++d) {
      if (IsFree(tensor, d)) return true;
    }
    return false;
  }

  // Symbols in loop order, each followed by the parts that were split off it.
  std::vector<IterationSymbol> OrderedSymbols() const {
    std::vector<IterationSymbol> ordered;
    for (const std::vector<int>& parts : parts_) {
      for (int part : parts) ordered.push_back(symbols_[static_cast<size_t>(part)]);
    }
    return ordered;
  }

  const OpSpec& op_;
  std::vector<IterationSymbol> symbols_;
  std::vector<AlignedTensor> tensors_;
  std::vector<int> standing_;   // symbols of range 1 for dimensions that stand still
  size_t standing_in_use_ = 0;  // by the tensor at hand
  int new_names_ = 0;
  std::vector<std::set<int64_t>> cuts_;  // by symbol
  std::vector<std::vector<int>> parts_;  // by symbol: what it was split into, innermost first
};

}  // namespace

OpSpec AlignTensors(const OpSpec& op) { return Aligner(op).Run(); }

}  // namespace spyre::compiler
