// SPDX-License-Identifier: Apache-2.0
#include "cosim/reference/bundle_memory.h"

#include "cosim/reference/device_elements.h"

namespace spyre::cosim {

BundleMemory::BundleMemory(const std::vector<uint64_t>& argument_bytes, int cores,
                           uint64_t lx_bytes, bool with_ideal)
    : arguments_(static_cast<int>(argument_bytes.size())), has_ideal_(with_ideal) {
  for (const uint64_t bytes : argument_bytes) images_.emplace_back(bytes);
  for (int core = 0; core < cores; ++core) images_.emplace_back(lx_bytes);
  pages_.resize(images_.size());
}

double BundleMemory::Stored(int image, int64_t at, DataFormat format, int bytes) const {
  return DeviceValue(format, LoadBits(images_[image].data() + at, bytes));
}

double BundleMemory::Ideal(int image, int64_t at, DataFormat format, int bytes) const {
  const auto& pages = pages_[image];
  if (!pages.empty()) {
    const Page* page = pages[at / kPageBytes].get();
    if (page != nullptr && page->element_bytes == bytes)
      return page->values[at % kPageBytes / bytes];
  }
  return Stored(image, at, format, bytes);
}

void BundleMemory::StoreIdeal(int image, int64_t at, DataFormat format, int bytes, double value) {
  auto& pages = pages_[image];
  const double stored = Stored(image, at, format, bytes);
  const bool same = value == stored || (value != value && stored != stored);
  if (pages.empty()) {
    if (same) return;
    pages.resize(images_[image].size() / kPageBytes + 1);
  }
  std::unique_ptr<Page>& page = pages[at / kPageBytes];
  if (page == nullptr || page->element_bytes != bytes) {
    if (page == nullptr && same) return;
    page = std::make_unique<Page>();
    page->element_bytes = bytes;
    const int64_t begin = at / kPageBytes * kPageBytes;
    for (int64_t i = begin; i < begin + kPageBytes; i += bytes) {
      const bool inside = i + bytes <= static_cast<int64_t>(images_[image].size());
      page->values.push_back(inside ? Stored(image, i, format, bytes) : 0);
    }
  }
  page->values[at % kPageBytes / bytes] = value;
}

}  // namespace spyre::cosim
