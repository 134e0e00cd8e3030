// SPDX-License-Identifier: Apache-2.0
// The program that is generated for a bundle leaves in memory what the bundle's reference leaves,
// bit for bit, whatever the order in which its units run.
#include "runtime/compiler/codegen/bundle_kernel.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "base/error.h"
#include "cosim/reference/bundle_reference.h"
#include "model/contract/memory_map.h"
#include "runtime/compiler/codegen/bundle_lx.h"
#include "tests/paths.h"
#include "tests/unit/cosim/reference/random_bundle.h"
#include "tests/unit/runtime/compiler/program_interpreter.h"

namespace spyre::cosim {
namespace {

using compiler::Bundle;
using compiler::BundleArgument;
using compiler::Kernel;
using compiler::KernelArgument;

// Arguments of just so many bytes; the layout matters to nobody.
std::vector<KernelArgument> Arguments(const Bundle& bundle,
                                      const std::vector<compiler::ArgumentUse>& uses) {
  std::vector<KernelArgument> arguments;
  for (size_t i = 0; i < bundle.arguments.size(); ++i) {
    if (bundle.arguments[i].kind != BundleArgument::Kind::kTensor) continue;
    KernelArgument argument;
    argument.name = bundle.arguments[i].name;
    argument.is_output = uses[i].written;
    argument.shape = {static_cast<int64_t>(uses[i].bytes / 2)};
    argument.dims = {"d"};
    argument.layout = DefaultLayout(argument.shape, DataFormat::kSen169Fp16);
    arguments.push_back(argument);
  }
  return arguments;
}

void FillRandom(std::vector<uint8_t>& image, DataFormat format, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> value(-2.0F, 2.0F);
  if (format == DataFormat::kIeeeFp32) {
    for (size_t at = 0; at + 3 < image.size(); at += 4) {
      const float number = value(random);
      std::memcpy(&image[at], &number, 4);
    }
    return;
  }
  for (size_t at = 0; at + 1 < image.size(); at += 2) {
    const uint16_t code = DlfFromFloat(value(random));
    std::memcpy(&image[at], &code, 2);
  }
}

std::string Describe(const Bundle& bundle) {
  std::string text;
  for (const compiler::SuperDsc& dsc : bundle.dscs) {
    text += "\n" + dsc.op + " on " + std::to_string(dsc.cores.size()) + " cores:";
    for (const compiler::SdscDim& dim : dsc.dims) {
      text += " " + dim.name + "=" + std::to_string(dim.size) + "/" + std::to_string(dim.slices);
    }
    for (const compiler::SdscTensor& tensor : dsc.tensors) {
      text += "\n  " + tensor.name + (tensor.in_lx ? " lx" : " memory");
      const std::vector<int64_t> strides = DimStrides(dsc, tensor);
      for (size_t d = 0; d < dsc.dims.size(); ++d) {
        text += " " + dsc.dims[d].name + ":" + std::to_string(strides[d]);
      }
      text += " from " + std::to_string(tensor.start.front());
    }
  }
  return text;
}

struct TensorOfOp {
  const compiler::SuperDsc* dsc = nullptr;
  const compiler::SdscTensor* tensor = nullptr;
};

// The first tensor of the bundle that lies in the argument.
TensorOfOp TensorIn(const Bundle& bundle, const std::vector<compiler::BundleNode>& body,
                    int argument) {
  for (const compiler::BundleNode& node : body) {
    const auto* execute = std::get_if<compiler::BundleExecute>(&node);
    if (execute == nullptr) {
      return TensorIn(bundle, std::get<compiler::BundleLoop>(node).body, argument);
    }
    const compiler::SuperDsc& dsc = bundle.dscs[execute->dsc];
    for (const compiler::SdscTensor& tensor : dsc.tensors) {
      if (!tensor.symbolic) continue;
      if (execute->symbols.at(tensor.start.front()).argument == argument) return {&dsc, &tensor};
    }
  }
  return {};
}

// Bytes of each stick of the argument that mean something.
size_t Meaningful(const Bundle& bundle, int argument) {
  const auto [dsc, tensor] = TensorIn(bundle, bundle.body, argument);
  if (std::count(tensor->scale.begin(), tensor->scale.end(), -2) == 0) return kStickBytes;
  return static_cast<size_t>(tensor->word_bytes) * (dsc->op.rfind("exx2", 0) == 0 ? 2 : 1);
}

// Runs the bundle in the reference and as a program; compares every argument.
void ExpectSame(Bundle bundle, uint32_t seed) {
  SCOPED_TRACE(Describe(bundle));
  BindSegments(bundle);
  const std::vector<compiler::ArgumentUse> uses = ArgumentUses(bundle);
  std::vector<uint64_t> bytes;
  for (size_t i = 0; i < uses.size(); ++i) {
    bytes.push_back(AlignUp(uses[i].bytes, kStickBytes));
  }
  BundleMemory expected(bytes, kMaxCores, compiler::ResidentLxBytes(bundle), false);
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bundle.arguments[i].kind == BundleArgument::Kind::kTensor) {
      FillRandom(expected.image(static_cast<int>(i)),
                 TensorIn(bundle, bundle.body, static_cast<int>(i)).tensor->format,
                 seed + static_cast<uint32_t>(i));
    }
  }
  const Kernel kernel = GenerateBundleKernel(bundle, Arguments(bundle, uses), {});
  const std::vector<uint8_t> encoded = Encode(kernel.compute);
  Program program = Decode(encoded.data(), encoded.size());
  compiler::testing::Memory memory;
  std::vector<uint64_t> base(bytes.size());
  int tensor = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bundle.arguments[i].kind != BundleArgument::Kind::kTensor) continue;
    base[i] = SegmentAddress(static_cast<unsigned>(tensor % 7), 4096 + (uint64_t{1} << 32) * i);
    memory.Add(base[i], bytes[i]);
    std::memcpy(memory.At(base[i], bytes[i]), expected.image(static_cast<int>(i)).data(), bytes[i]);
    program.address_table[static_cast<size_t>(8 * tensor++)] = base[i];
  }
  if (kernel.pool_bytes > 0) memory.Add(kProgramBase + kernel.pool_offset, kernel.pool_bytes);
  try {
    compiler::testing::Interpreter(program, memory, seed).Run();
  } catch (const std::exception& error) {
    FAIL() << error.what() << "; seed " << seed;
  }
  RunBundleReference(bundle, {}, expected);
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bundle.arguments[i].kind != BundleArgument::Kind::kTensor) continue;
    const std::vector<uint8_t>& image = expected.image(static_cast<int>(i));
    const uint8_t* const got = memory.At(base[i], bytes[i]);
    const size_t meaningful = Meaningful(bundle, static_cast<int>(i));
    for (size_t at = 0; at < image.size(); ++at) {
      if (image[at] == got[at] || at % kStickBytes >= meaningful) continue;
      FAIL() << bundle.arguments[i].name << ": byte " << at << " of " << image.size() << " is "
             << int{got[at]} << ", expected " << int{image[at]} << "; seed " << seed;
    }
  }
}

constexpr uint32_t kCases = 60;

TEST(BundleKernel, PointwiseOperationsOfAnyShapeLayoutAndPlace) {
  const std::pair<const char*, int> ops[] = {
      {"add", 2},  {"sub", 2},      {"realdiv", 2},       {"where3", 3},        {"exp", 1},
      {"clip", 1}, {"softplus", 1}, {"layernormnorm", 5}, {"layernormnorm", 3}, {"identity", 1}};
  for (uint32_t seed = 0; seed < 2 * kCases; ++seed) {
    const auto& [op, inputs] = ops[seed % std::size(ops)];
    ExpectSame(testing::RandomPointwise(op, inputs, seed), seed);
    if (HasFatalFailure()) return;
  }
}

TEST(BundleKernel, Fp32HasSticksOfItsOwn) {
  for (uint32_t seed = 0; seed < kCases; ++seed) {
    const bool over_stick = seed % 8 < 4;
    ExpectSame(seed % 4 == 0   ? testing::RandomPointwise("where3", 3, seed, true)
               : seed % 4 == 1 ? testing::RandomPointwise("mul", 2, seed, true)
               : seed % 4 == 2 ? testing::RandomConversion(over_stick, seed)
                               : testing::RandomReduction(over_stick ? "sum" : "maxnonstick",
                                                          over_stick, seed, true),
               seed);
    if (HasFatalFailure()) return;
  }
}

TEST(BundleKernel, ReductionsOverSticksAndAcrossThem) {
  const std::pair<const char*, const char*> ops[] = {
      {"sum", "sumnonstick"},           {"max", "maxnonstick"},
      {"prod", "prodnonstick"},
      {"mean", "meannonstick"},         {"exx2", "absmaxnonstick"},
      {"exx2_zeromean", "minnonstick"}, {"quantscalepertokenfp8", "sumnonstick"}};
  for (uint32_t seed = 0; seed < kCases; ++seed) {
    const bool over_stick = seed % 2 == 0;
    const auto& [stick, nonstick] = ops[seed / 2 % std::size(ops)];
    ExpectSame(testing::RandomReduction(over_stick ? stick : nonstick, over_stick, seed), seed);
    if (HasFatalFailure()) return;
  }
}

TEST(BundleKernel, AReductionOfOneElementKeepsIt) {
  testing::RandomBundle r(1);
  compiler::SuperDsc dsc = r.Op("sumnonstick", {{"mb", 1, false}, {"out", 128, true}});
  dsc.tensors = {r.Tensor(dsc, {0, 1}, 1), r.Tensor(dsc, {0, 1}, 1, {0})};
  dsc.inputs = {0};
  dsc.outputs = {1};
  ExpectSame(r.Finish(dsc, 0), 1);
}

TEST(BundleKernel, SeveralReducedDimensionsAreNotDivided) {
  for (uint32_t seed = 0; seed < 8; ++seed) {
    testing::RandomBundle r(seed);
    const bool split = seed % 2 == 0;
    compiler::SuperDsc dsc =
        r.Op("sum", {{"x", 6, false, split}, {"mb", 4, false}, {"out", 192, true, false}}, 12);
    dsc.tensors = {r.Tensor(dsc, {0, 1, 2}, 2), r.Tensor(dsc, {0, 1, 2}, 2, {0, 2})};
    dsc.inputs = {0};
    dsc.outputs = {1};
    const bool divided = dsc.dims[0].slices > 1;
    Bundle bundle = r.Finish(dsc, 0);
    const std::vector<compiler::ArgumentUse> uses = ArgumentUses(bundle);
    if (divided) {
      EXPECT_THROW(GenerateBundleKernel(bundle, Arguments(bundle, uses), {}), Error);
    } else {
      ExpectSame(std::move(bundle), seed);
    }
  }
}

TEST(BundleKernel, MatmulsWithBatchesSharedWeightsAndDividedSums) {
  for (uint32_t seed = 0; seed < kCases; ++seed) {
    ExpectSame(testing::RandomMatmul(seed), seed);
    if (HasFatalFailure()) return;
  }
}

TEST(BundleKernel, LoopsStayLoopsAndMoveWhatTheyTile) {
  for (uint32_t seed = 0; seed < kCases; ++seed) {
    const bool over_stick = seed % 8 < 4;
    Bundle bundle = seed % 4 == 0   ? testing::RandomMatmul(seed)
                    : seed % 4 == 1 ? testing::RandomPointwise("where3", 3, seed)
                    : seed % 4 == 2 ? testing::RandomRestickify(seed)
                                    : testing::RandomReduction(over_stick ? "sum" : "maxnonstick",
                                                               over_stick, seed);
    ExpectSame(testing::InLoops(std::move(bundle), seed), seed);
    if (HasFatalFailure()) return;
  }
}

TEST(BundleKernel, Restickify) {
  for (uint32_t seed = 0; seed < kCases / 4; ++seed) {
    ExpectSame(testing::RandomRestickify(seed), seed);
    if (HasFatalFailure()) return;
  }
}

TEST(BundleKernel, SampleBundlesOfEveryDialect) {
  int found = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(SPYRE_SOURCE_DIR "/tests/data/bundles")) {
    if (entry.path().filename() != "bundle.mlir") continue;
    SCOPED_TRACE(entry.path().string());
    if (entry.path().string().find("loop_chain") != std::string::npos) continue;  // on the card
    ExpectSame(compiler::ReadBundle(entry.path().parent_path()), 1);
    if (HasFatalFailure()) return;
    ++found;
  }
  EXPECT_GE(found, 15);
}

}  // namespace
}  // namespace spyre::cosim
