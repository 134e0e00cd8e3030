// SPDX-License-Identifier: Apache-2.0
// Convolutions and pooling as bundles of one operation, of many sizes, strides and dilations:
// against loops over float64 that know nothing of sticks, windows of SDSC files or cores.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "cosim/tensors/npy.h"
#include "cosim/tensors/reference_numbers.h"
#include "model/contract/formats.h"
#include "runtime/compiler/sdsc/super_dsc.h"
#include "tests/integration/program_fixture.h"

namespace spyre::cosim::window_bundles_test {
namespace {

using compiler::SdscTensor;
using compiler::SdscWindow;
using compiler::SuperDsc;
using ::testing::HasSubstr;

struct Side {
  int64_t size = 1;    // of the result
  int64_t kernel = 1;  // positions of a window
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t unused = 0;  // elements behind the last window

  int64_t extent() const { return (size - 1) * stride + (kernel - 1) * dilation + 1 + unused; }
};

struct Case {
  std::string op;
  int64_t images = 1;
  Side i, j;
  int64_t in = 0;  // channels that are summed; 0: none
  int64_t out = 64;
  int cores = 1;  // that the rows of the result are divided over
};

std::string Describe(const Case& c) {
  return fmt::format(
      "{}: {} images, result {}x{}, window {}x{}, strides {} {}, dilations {} {}, "
      "channels {} {}, {} cores",
      c.op, c.images, c.i.size, c.j.size, c.i.kernel, c.j.kernel, c.i.stride, c.j.stride,
      c.i.dilation, c.j.dilation, c.in, c.out, c.cores);
}

// An array of the host, innermost dimension last.
struct Array {
  std::vector<int64_t> shape;
  std::vector<double> values;

  explicit Array(std::vector<int64_t> sizes) : shape(std::move(sizes)) {
    int64_t elements = 1;
    for (const int64_t size : shape) elements *= size;
    values.resize(static_cast<size_t>(elements));
  }
  double& at(std::initializer_list<int64_t> index) {
    int64_t position = 0;
    const int64_t* size = shape.data();
    for (const int64_t i : index) position = position * *size++ + i;
    return values[static_cast<size_t>(position)];
  }
  std::string ShapeText() const { return fmt::format("{}", fmt::join(shape, "x")); }
};

class WindowBundles : public test::ProgramFixture {
 protected:
  enum Dim : int { kMb, kI, kJ, kIn, kOut, kKi, kKj };

  // Numbers of 1/8, which float16 and SEN169 hold exactly.
  void Fill(const std::string& name, Array& array, int salt) const {
    std::vector<uint16_t> data;
    for (size_t i = 0; i < array.values.size(); ++i) {
      const auto mixed = static_cast<int64_t>((i * 2654435761u + static_cast<unsigned>(salt)) >> 7);
      array.values[i] = static_cast<double>(mixed % 17 - 8) / 8;
      data.push_back(NearestHalf(array.values[i]));
    }
    WriteNpy(dir_ + "/" + name, "f2", array.shape, data.data());
  }
  Array Result(const std::string& name, const std::vector<int64_t>& shape) const {
    const NpyArray read = ReadNpy(dir_ + "/" + name, name, "f2", shape);
    Array array(shape);
    for (size_t i = 0; i < array.values.size(); ++i)
      array.values[i] =
          HalfValue(static_cast<uint16_t>(read.data[2 * i] | read.data[2 * i + 1] << 8));
    return array;
  }

  // In the default layout of the host shape: the first dimension innermost, then the sticks, then
  // the others from the last one on.
  static SdscTensor Tensor(int index, const char* type, const std::vector<int>& shape) {
    SdscTensor tensor;
    tensor.name = fmt::format("Tensor{}", index);
    tensor.type = type;
    tensor.dim_order = {shape.front(), shape.back()};
    for (size_t d = shape.size() - 1; d-- > 1;) tensor.dim_order.push_back(shape[d]);
    tensor.scale.assign(shape.size(), 1);
    tensor.stick_dims = {shape.back()};
    tensor.stick_sizes = {64};
    tensor.symbolic = true;
    return tensor;
  }

  static SuperDsc Operation(const Case& c) {
    SuperDsc dsc;
    dsc.name = "0_" + c.op;
    dsc.op = c.op;
    dsc.unit = c.op == "conv2d" ? "pt" : "sfp";
    const int64_t sizes[] = {c.images, c.i.size,   c.j.size,  std::max<int64_t>(c.in, 1),
                             c.out,    c.i.kernel, c.j.kernel};
    const char* names[] = {"mb", "i", "j", "in", "out", "ki", "kj"};
    for (int d = 0; d < 7; ++d) {
      const int slices = d == kI ? c.cores : 1;
      dsc.dims.push_back({names[d], sizes[d], sizes[d] / slices, slices});
    }
    for (int core = 0; core < c.cores; ++core) {
      dsc.cores.push_back(core);
      dsc.slice.emplace_back(7, 0);
      dsc.slice.back()[kI] = core;
    }
    const bool convolves = c.op == "conv2d";
    dsc.tensors.push_back(Tensor(0, "INPUT", {kMb, kI, kJ, convolves ? kIn : kOut}));
    for (const auto& [dim, window, side] : {std::tuple{kI, kKi, c.i}, std::tuple{kJ, kKj, c.j}})
      dsc.tensors[0].windows.push_back({dim, window, side.stride, side.dilation, side.extent()});
    dsc.inputs = {0};
    if (convolves) dsc.tensors.push_back(Tensor(1, "KERNEL", {kKi, kKj, kIn, kOut}));
    if (c.op == "depthwiseconv2dnative")
      dsc.tensors.push_back(Tensor(1, "KERNEL", {kKi, kKj, kOut}));
    if (dsc.tensors.size() == 2) dsc.inputs.push_back(1);
    dsc.outputs = {static_cast<int>(dsc.tensors.size())};
    dsc.tensors.push_back(Tensor(dsc.outputs.front(), "OUTPUT", {kMb, kI, kJ, kOut}));
    if (c.op == "avgpoolfwd") {
      compiler::SdscConstant nmap{"nmap", DataFormat::kSen169Fp16, 0};
      nmap.bits = DlfFromDouble(1.0 / static_cast<double>(c.i.kernel * c.j.kernel));
      dsc.constants.push_back(nmap);
    }
    return dsc;
  }

  // The bundle in the directory `name`: a symbol for each core's part of each argument.
  void WriteBundle(const std::string& name, SuperDsc dsc) const {
    std::string header, body, values, ids;
    int symbol = 0;
    for (size_t t = 0; t < dsc.tensors.size(); ++t) {
      SdscTensor& tensor = dsc.tensors[t];
      header += fmt::format("{}%a{}: !sdscbundle.input_arg<index>", t == 0 ? "" : ", ", t);
      body += fmt::format(
          "%b{0} = sdscbundle.input_arg_extract value from %a{0} : "
          "!sdscbundle.input_arg<index> -> index\n",
          t);
      const int64_t step = DimStrides(dsc, tensor)[kI] * dsc.dims[kI].per_core;
      for (size_t core = 0; core < dsc.cores.size(); ++core) {
        body += fmt::format(
            "%o{0}_{1} = arith.constant {2} : index\n"
            "%c{0}_{1} = arith.addi %b{0}, %o{0}_{1} : index\n",
            t, core, step * static_cast<int64_t>(core));
        values += fmt::format("{}%c{}_{}", symbol == 0 ? "" : ", ", t, core);
        ids += fmt::format("{}-{}", symbol == 0 ? "" : ", ", symbol + 1);
        tensor.start.push_back(-++symbol);
      }
    }
    std::filesystem::create_directories(dir_ + "/" + name);
    Write(name + "/sdsc_0.json", ToSdscJson(dsc, compiler::BundleDialect::kSymbolicArguments));
    Write(name + "/bundle.mlir",
          fmt::format("module {{\nfunc.func @sdsc_bundle({}) {{\n{}sdscbundle.sdsc_execute ({}) "
                      "{{sdsc_filename=\"sdsc_0.json\", \"symbol_ids\"=[{}]}}\nreturn\n}}\n}}\n",
                      header, body, values, ids));
  }

  // Runs it and compares each element with what the loops below make of the same numbers.
  void Check(const Case& c) const {
    SCOPED_TRACE(Describe(c));
    WriteBundle("bundle", Operation(c));
    const bool convolves = c.op == "conv2d";
    Array x({c.images, c.i.extent(), c.j.extent(), convolves ? c.in : c.out});
    Fill("x.npy", x, 1);
    Array w(convolves ? std::vector<int64_t>{c.i.kernel, c.j.kernel, c.in, c.out}
                      : std::vector<int64_t>{c.i.kernel, c.j.kernel, c.out});
    Fill("w.npy", w, 2);
    const bool weighted = convolves || c.op == "depthwiseconv2dnative";
    const std::vector<int64_t> shape{c.images, c.i.size, c.j.size, c.out};
    const std::string weights = weighted ? w.ShapeText() + "," : "";
    const Outcome run =
        Call(fmt::format("run bundle --no-progress --out out --shape {},{}{} --args x.npy{}",
                         x.ShapeText(), weights, fmt::join(shape, "x"), weighted ? ",w.npy" : ""));
    ASSERT_EQ(run.status, 0) << run.out << run.err;
    const Array got = Result(weighted ? "out/arg_2.npy" : "out/arg_1.npy", shape);
    Array expected(shape);
    for (int64_t n = 0; n < c.images; ++n)
      for (int64_t i = 0; i < c.i.size; ++i)
        for (int64_t j = 0; j < c.j.size; ++j)
          for (int64_t o = 0; o < c.out; ++o)
            expected.at({n, i, j, o}) = Expected(c, x, w, n, i, j, o);
    double largest = 0;
    for (size_t e = 0; e < got.values.size(); ++e) {
      largest = std::max(largest, std::fabs(expected.values[e]));
      ASSERT_NEAR(got.values[e], expected.values[e], std::fabs(expected.values[e]) / 256 + 1e-3)
          << "element " << e;
    }
    EXPECT_GT(largest, 0.1);
  }

  static double Expected(const Case& c, Array& x, Array& w, int64_t n, int64_t i, int64_t j,
                         int64_t o) {
    const bool most = c.op == "maxpoolfwd";
    double total = most ? -INFINITY : 0;
    for (int64_t ki = 0; ki < c.i.kernel; ++ki) {
      for (int64_t kj = 0; kj < c.j.kernel; ++kj) {
        const int64_t row = i * c.i.stride + ki * c.i.dilation;
        const int64_t column = j * c.j.stride + kj * c.j.dilation;
        if (c.op == "conv2d") {
          for (int64_t k = 0; k < c.in; ++k)
            total += x.at({n, row, column, k}) * w.at({ki, kj, k, o});
        } else if (most) {
          total = std::max(total, x.at({n, row, column, o}));
        } else {
          const double factor = c.op == "avgpoolfwd" ? 1 : w.at({ki, kj, o});
          total += x.at({n, row, column, o}) * factor;
        }
      }
    }
    const auto positions = static_cast<double>(c.i.kernel * c.j.kernel);
    return c.op == "avgpoolfwd" ? total / positions : total;
  }
};

TEST_F(WindowBundles, PoolsAreThoseOfTheirWindows) {
  for (const char* op : {"avgpoolfwd", "maxpoolfwd"}) {
    Check({op, 1, {6, 2, 2}, {5, 2, 2}, 0, 64, 1});
    Check({op, 2, {4, 3, 1}, {7, 2, 3}, 0, 128, 2});       // windows overlap, or leave gaps
    Check({op, 3, {3, 2, 1, 3, 2}, {1, 5, 1}, 0, 40, 3});  // dilated; a partial stick
    Check({op, 1, {70, 3, 1}, {66, 1, 1}, 0, 64, 1});
  }
}

TEST_F(WindowBundles, DepthwiseConvolutionsMultiplyEachChannelByItsOwnWindow) {
  const std::string op = "depthwiseconv2dnative";
  Check({op, 1, {6, 3}, {5, 3}, 0, 64, 1});
  Check({op, 2, {4, 2, 2, 1, 1}, {6, 3, 2, 2}, 0, 192, 4});
  Check({op, 2, {8, 1, 2}, {3, 1, 2}, 0, 64, 2});  // a window of one element
  Check({op, 1, {2, 7}, {90, 7}, 0, 24, 1});
}

TEST_F(WindowBundles, ConvolutionsSumOverWindowsAndChannels) {
  const std::string op = "conv2d";
  Check({op, 1, {6, 3}, {6, 3}, 64, 64, 2});
  Check({op, 2, {4, 2, 2, 1, 1}, {5, 3, 3}, 128, 64, 1});
  Check({op, 3, {6, 3, 1, 2}, {1, 1}, 96, 128, 3});  // channels that do not fill their sticks
  Check({op, 1, {3, 5, 2, 2, 3}, {70, 4}, 64, 192, 1});
}

TEST_F(WindowBundles, OfADimensionThatIsLeftOutAWindowIsOneElement) {
  WriteBundle("bundle", Operation({"depthwiseconv2dnative", 1, {6, 3}, {1, 1}, 0, 64, 1}));
  nlohmann::json file = SortedJsonOf(Read("bundle/sdsc_0.json"));
  nlohmann::json& dsc = file["0_depthwiseconv2dnative"]["dscs_"][0]["depthwiseconv2dnative"];
  nlohmann::json& sizes = dsc["N_"]["paddingSizes_"];
  sizes["w"] = sizes["j"];
  dsc["scheduleTree_"][0]["padding_"]["w"] = "padded_fullspan_wunneeded";
  Write("bundle/sdsc_0.json", file.dump());
  EXPECT_EQ(Call("run bundle --no-progress --out out").status, 0);
  sizes["w"]["totalSize_"] = 2;
  Write("bundle/sdsc_0.json", file.dump());
  EXPECT_THAT(Call("run bundle --no-progress --out out").err,
              HasSubstr("dimension 'w' is not in N_"));
}

TEST_F(WindowBundles, WhatWindowsCannotBeIsRefusedByName) {
  const Case c{"avgpoolfwd", 1, {6, 2, 2}, {5, 2, 2}};
  WriteBundle("bundle", Operation(c));
  const nlohmann::json good = SortedJsonOf(Read("bundle/sdsc_0.json"));
  const auto refused = [&](const char* key, const nlohmann::json& value, const char* message) {
    nlohmann::json bad = good;
    bad["0_avgpoolfwd"]["dscs_"][0]["avgpoolfwd"]["N_"]["paddingSizes_"]["i"][key] = value;
    Write("bundle/sdsc_0.json", bad.dump());
    const Outcome run = Call("run bundle --no-progress --out out");
    EXPECT_EQ(run.status, 2) << key;
    EXPECT_THAT(run.err, HasSubstr(message)) << key;
  };
  refused("padFront_", 1, "0 is expected; add the padding by an operation before this one");
  refused("stride_", int64_t{1} << 40, "65536");
  refused("totalSize_", 11, "at least 12 elements are expected, which 6 windows of 2 reach");
  refused("stride_", 0, "from 1 to");
  refused("windowDim_", "mb", "a window dimension that the tensor does not have");
}

}  // namespace
}  // namespace spyre::cosim::window_bundles_test
