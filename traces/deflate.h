// SPDX-License-Identifier: Apache-2.0
// How binary data travels inside an HTML page: packed by zlib, which every browser can unpack
// (DecompressionStream "deflate"), and written as base64. Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

namespace spyre::trace {

// A zlib stream (RFC 1950). Throws std::bad_alloc when there is no memory.
std::string Deflate(std::string_view bytes);
// With padding (RFC 4648, section 4).
std::string Base64(std::string_view bytes);

}  // namespace spyre::trace
