// SPDX-License-Identifier: Apache-2.0
// Whether the program that is generated for a bundle leaves in memory what the bundle's reference
// leaves, bit for bit, whatever the order in which its units run.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "cosim/reference/bundle_reference.h"
#include "model/contract/memory_map.h"
#include "runtime/compiler/bundle/bundle_indices.h"
#include "runtime/compiler/codegen/bundle_kernel.h"
#include "runtime/compiler/codegen/bundle_lx.h"
#include "tests/unit/cosim/reference/bundle_builder.h"
#include "tests/unit/runtime/compiler/program_interpreter.h"

namespace spyre::cosim::bundle_check {

constexpr uint32_t kIndexedRows = 7;  // that an index of these tests chooses from

// Bytes of an argument: as many as the bundle reaches, or blocks, where an index chooses one.
inline std::vector<uint64_t> ArgumentBytes(const compiler::Bundle& bundle,
                                           const std::vector<compiler::ArgumentUse>& uses) {
  const std::set<int> chosen = compiler::ChosenFrom(bundle);
  std::vector<uint64_t> bytes;
  for (size_t i = 0; i < uses.size(); ++i)
    bytes.push_back(uses[i].bytes * (chosen.count(static_cast<int>(i)) == 0 ? 1 : kIndexedRows));
  return bytes;
}

// Arguments of just so many bytes; the layout matters to nobody.
inline std::vector<compiler::KernelArgument> Arguments(
    const compiler::Bundle& bundle, const std::vector<compiler::ArgumentUse>& uses) {
  const std::vector<uint64_t> bytes = ArgumentBytes(bundle, uses);
  std::vector<compiler::KernelArgument> arguments;
  for (size_t i = 0; i < bundle.arguments.size(); ++i) {
    if (bundle.arguments[i].kind != compiler::BundleArgument::Kind::kTensor) continue;
    compiler::KernelArgument argument;
    argument.name = bundle.arguments[i].name;
    argument.is_output = uses[i].written;
    argument.shape = {static_cast<int64_t>(bytes[i] / 2)};
    argument.dims = {"d"};
    argument.layout = DefaultLayout(argument.shape, DataFormat::kSen169Fp16);
    arguments.push_back(argument);
  }
  return arguments;
}

inline void FillRandom(std::vector<uint8_t>& image, DataFormat format, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> value(-2.0F, 2.0F);
  if (format == DataFormat::kIeeeFp32) {
    for (size_t at = 0; at + 3 < image.size(); at += 4) {
      const float number = value(random);
      std::memcpy(&image[at], &number, 4);
    }
    return;
  }
  if (format == DataFormat::kSenUint32) {
    for (size_t at = 0; at + 3 < image.size(); at += 4) {
      const auto number = static_cast<uint32_t>(random() % kIndexedRows);
      std::memcpy(&image[at], &number, 4);
    }
    return;
  }
  for (size_t at = 0; at + 1 < image.size(); at += 2) {
    const uint16_t code = DlfFromFloat(value(random));
    std::memcpy(&image[at], &code, 2);
  }
}

inline std::string Describe(const compiler::Bundle& bundle) {
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
inline TensorOfOp TensorIn(const compiler::Bundle& bundle,
                           const std::vector<compiler::BundleNode>& body, int argument) {
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
inline size_t Meaningful(const compiler::Bundle& bundle, int argument) {
  const auto [dsc, tensor] = TensorIn(bundle, bundle.body, argument);
  if (std::count(tensor->scale.begin(), tensor->scale.end(), -2) == 0) return kStickBytes;
  return static_cast<size_t>(tensor->word_bytes) * (dsc->op.rfind("exx2", 0) == 0 ? 2 : 1);
}

using Change = std::function<void(std::vector<uint8_t>& image)>;

// Runs the bundle in the reference and as a program; compares every argument. `change`: what the
// arguments hold at first, from the random numbers that they have.
inline void ExpectSame(compiler::Bundle bundle, uint32_t seed, const Change& change = nullptr) {
  SCOPED_TRACE(Describe(bundle));
  BindSegments(bundle);
  const std::vector<compiler::ArgumentUse> uses = ArgumentUses(bundle);
  std::vector<uint64_t> bytes = ArgumentBytes(bundle, uses);
  for (uint64_t& count : bytes) count = AlignUp(count, kStickBytes);
  BundleMemory expected(bytes, kMaxCores, compiler::ResidentLxBytes(bundle), false);
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bundle.arguments[i].kind == compiler::BundleArgument::Kind::kTensor) {
      FillRandom(expected.image(static_cast<int>(i)),
                 TensorIn(bundle, bundle.body, static_cast<int>(i)).tensor->format,
                 seed + static_cast<uint32_t>(i));
      if (change) change(expected.image(static_cast<int>(i)));
    }
  }
  const compiler::Kernel kernel = GenerateBundleKernel(bundle, Arguments(bundle, uses), {});
  std::vector<Program> programs = compiler::harness::ProgramsOf(kernel);
  compiler::harness::Memory memory;
  std::vector<uint64_t> base(bytes.size());
  int tensor = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bundle.arguments[i].kind != compiler::BundleArgument::Kind::kTensor) continue;
    base[i] = SegmentAddress(static_cast<unsigned>(tensor % 7), 4096 + (uint64_t{1} << 32) * i);
    memory.Add(base[i], bytes[i]);
    std::memcpy(memory.At(base[i], bytes[i]), expected.image(static_cast<int>(i)).data(), bytes[i]);
    for (Program& program : programs)
      program.address_table[static_cast<size_t>(8 * tensor)] = base[i];
    ++tensor;
  }
  if (kernel.pool_bytes > 0) memory.Add(kProgramBase + kernel.pool_offset, kernel.pool_bytes);
  try {
    compiler::harness::RunInOrder(programs, memory, seed);
  } catch (const std::exception& error) {
    FAIL() << error.what() << "; seed " << seed;
  }
  RunBundleReference(bundle, {}, expected);
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bundle.arguments[i].kind != compiler::BundleArgument::Kind::kTensor) continue;
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

}  // namespace spyre::cosim::bundle_check
