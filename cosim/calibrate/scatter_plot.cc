// SPDX-License-Identifier: Apache-2.0
#include "cosim/calibrate/scatter_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace spyre::cosim {
namespace {

constexpr double kPlotSize = 480;                                   // of the picture, both ways
constexpr double kLeft = 52, kRight = 12, kTop = 12, kBottom = 44;  // around the plot
constexpr double kThinLines = 0.1;                                  // error of the thin lines

struct DotKind {
  const char* title;
  const char* colour;
};
constexpr std::array<DotKind, 5> kDotKinds = {{{"pointwise, transpose", "#1b7f4d"},
                                               {"row reductions", "#c77700"},
                                               {"softmax", "#8e44ad"},
                                               {"matmul, k whole", "#1f5fa8"},
                                               {"matmul, k divided", "#c0392b"}}};

size_t DotKindOf(const CalibrationPoint& point) {
  const std::string family = point.Family();
  if (family == "reduction") return 1;
  if (family == "softmax") return 2;
  if (family == "matmul-k") return 4;
  return family.rfind("matmul", 0) == 0 ? 3 : 0;
}

// Powers of ten around all times.
class PlotScale {
 public:
  PlotScale(const std::vector<CalibrationPoint>& points, const std::vector<PointResult>& results) {
    double least = 1e300, most = 0;
    for (size_t i = 0; i < points.size(); ++i) {
      if (!results[i].ok()) continue;
      least = std::min({least, points[i].reference_us, results[i].simulated_us()});
      most = std::max({most, points[i].reference_us, results[i].simulated_us()});
    }
    if (most == 0) return;
    first_ = static_cast<int>(std::floor(std::log10(least)));
    last_ = std::max(first_ + 1, static_cast<int>(std::ceil(std::log10(most))));
  }
  int first() const { return first_; }
  int last() const { return last_; }
  double X(double us) const { return kLeft + Part(us) * (kPlotSize - kLeft - kRight); }
  double Y(double us) const {
    return kPlotSize - kBottom - Part(us) * (kPlotSize - kTop - kBottom);
  }

 private:
  double Part(double us) const { return (std::log10(us) - first_) / (last_ - first_); }
  int first_ = 0, last_ = 1;
};

std::string SvgLine(double x1, double y1, double x2, double y2, const char* style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1,
                     x2, y2, style);
}

std::string SvgText(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     text);
}

std::string PlotAxes(const PlotScale& scale) {
  std::string svg;
  const double least = std::pow(10, scale.first()), most = std::pow(10, scale.last());
  for (int power = scale.first(); power <= scale.last(); ++power) {
    const double us = std::pow(10, power);
    svg += SvgLine(scale.X(us), scale.Y(least), scale.X(us), scale.Y(most), "stroke=\"#ddd\"");
    svg += SvgLine(scale.X(least), scale.Y(us), scale.X(most), scale.Y(us), "stroke=\"#ddd\"");
    const std::string label = fmt::format("{:g}", us);
    svg += SvgText(scale.X(us), scale.Y(least) + 16, "middle", label);
    svg += SvgText(scale.X(least) - 6, scale.Y(us) + 4, "end", label);
  }
  svg += SvgLine(scale.X(least), scale.Y(least), scale.X(most), scale.Y(most), "stroke=\"#555\"");
  const double up = 1 + kThinLines;
  svg += SvgLine(scale.X(least), scale.Y(least * up), scale.X(most / up), scale.Y(most),
                 "stroke=\"#aaa\"");
  svg += SvgLine(scale.X(least * up), scale.Y(least), scale.X(most), scale.Y(most / up),
                 "stroke=\"#aaa\"");
  svg += SvgText((scale.X(least) + scale.X(most)) / 2, kPlotSize - 8, "middle", "measured, us");
  svg += fmt::format("<g transform=\"rotate(-90 12 {0:.1f})\">", kPlotSize / 2) +
         SvgText(12, kPlotSize / 2, "middle", "simulated, us") + "</g>\n";
  return svg;
}

std::string PlotLegend() {
  std::string svg;
  double y = kTop + 16;
  for (const DotKind& kind : kDotKinds) {
    svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"/>\n", kLeft + 14,
                       y - 4, kind.colour);
    svg += SvgText(kLeft + 24, y, "start", kind.title);
    y += 16;
  }
  return svg + SvgText(kLeft + 8, y, "start", "hollow: held out; thin lines: 10 %");
}

}  // namespace

std::string ScatterSvg(const std::vector<CalibrationPoint>& points,
                       const std::vector<PointResult>& results) {
  const PlotScale scale(points, results);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:g}\" height=\"{0:g}\" "
      "viewBox=\"0 0 {0:g} {0:g}\" font-family=\"sans-serif\" font-size=\"11\">\n"
      "<rect width=\"{0:g}\" height=\"{0:g}\" fill=\"white\"/>\n",
      kPlotSize);
  svg += PlotAxes(scale);
  for (size_t i = 0; i < points.size(); ++i) {
    if (!results[i].ok()) continue;
    const char* const colour = kDotKinds[DotKindOf(points[i])].colour;
    svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" stroke=\"{}\" fill=\"{}\"/>\n",
                       scale.X(points[i].reference_us), scale.Y(results[i].simulated_us()), colour,
                       points[i].held_out() ? "none" : colour);
  }
  return svg + PlotLegend() + "</svg>\n";
}

}  // namespace spyre::cosim
