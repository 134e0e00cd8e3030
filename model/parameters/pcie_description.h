// SPDX-License-Identifier: Apache-2.0
// The part of card_description.h that is about the PCIe link.
#pragma once

#include "model/common/card_config.h"

namespace spyre::model {

// Visitor: as DescribeCard.
template <class Visitor>
void DescribePcie(PcieConfig& c, Visitor& v) {
  v.Number("pcie.lanes", c.lanes, 1, 32, "lanes", "Width of the link; a power of two", "public");
  v.Number("pcie.rate_mts", c.rate_mts, 8000, 32000, "MT/s",
           "Of a lane: Gen5 32000, Gen4 16000, Gen3 8000; 128 of 130 bits are data", "public");
  v.Number("pcie.max_payload_bytes", c.max_payload_bytes, 128, 4096, "bytes", "Max payload size",
           "public");
  v.Number("pcie.max_read_request_bytes", c.max_read_request_bytes, 128, 4096, "bytes",
           "Max read request size", "public");
  v.Number(
      "pcie.read_retries", c.read_retries, 0, 16, "times",
      "How often a read of host memory is sent again whose answer was lost or damaged; reading "
      "has no effect on the host. Not public; the PCI Express base specification allows it",
      "assumed");
  v.Number("pcie.read_completion_boundary_bytes", c.read_completion_boundary_bytes, 64, 128,
           "bytes", "Completions other than the last end on it: 64 or 128", "public");
  v.Number("pcie.framing_bytes", c.framing_bytes, 0, 64, "bytes",
           "Of a packet: start token with sequence number 4, LCRC 4", "public");
  v.Number("pcie.header_bytes", c.header_bytes, 12, 64, "bytes",
           "Of a request with a 64-bit address", "public");
  v.Number("pcie.completion_header_bytes", c.completion_header_bytes, 12, 64, "bytes",
           "Of a completion", "public");
  v.Number("pcie.dllp_bytes", c.dllp_bytes, 0, 64, "bytes",
           "Acknowledgements and credit updates, charged to each packet: one of 8 bytes, as both "
           "are gathered over several packets",
           "assumed");
  v.Number("pcie.one_way_ns", c.one_way_ns, 0, 100000, "ns",
           "From the last byte leaving one side to the packet acting on the other; round trips of "
           "about 0.7 us to host memory are usual",
           "assumed");
  v.Number("pcie.register_ns", c.register_ns, 0, 100000, "ns",
           "From a read request reaching the card to its completion leaving, registers and memory "
           "window",
           "assumed");
  v.Number("pcie.host_memory_ns", c.host_memory_ns, 0, 100000, "ns",
           "Latency of host memory and root complex for a read request", "assumed");
  v.Number("pcie.host_memory_bytes_per_us", c.host_memory_bytes_per_us, 1, 1000000, "bytes/us",
           "Host memory rate for the card, reads and writes; well above the link", "assumed");
  v.Number("pcie.tags", c.tags, 1, 768, "requests",
           "Reads outstanding: 10-bit tags, of which 768 are for use", "public");
  v.Number("pcie.completion_buffer_bytes", c.completion_buffer_bytes, 4096, 16 << 20, "bytes",
           "The card's room for completions; a read is sent when there is room for all of its own. "
           "As much as the DMA engine can ask for",
           "assumed");
  v.Number("pcie.credit_return_ns", c.credit_return_ns, 0, 100000, "ns",
           "From a receiver having passed a packet on to the sender having its credits: an update "
           "each way takes one_way_ns, and waits its turn",
           "assumed");
  v.Number("pcie.host_posted_headers", c.host_posted_headers, 1, 4096, "packets",
           "Root complex: posted header credits; twice what the full rate needs", "assumed");
  v.Number("pcie.host_posted_data", c.host_posted_data, 8, 65536, "16 bytes",
           "Root complex: posted data credits; twice what the full rate needs", "assumed");
  v.Number("pcie.host_nonposted_headers", c.host_nonposted_headers, 1, 4096, "packets",
           "Root complex: read requests it can hold", "assumed");
  v.Number("pcie.card_posted_headers", c.card_posted_headers, 1, 4096, "packets",
           "Card: posted header credits, for register writes", "assumed");
  v.Number("pcie.card_posted_data", c.card_posted_data, 8, 65536, "16 bytes",
           "Card: posted data credits", "assumed");
  v.Number("pcie.card_nonposted_headers", c.card_nonposted_headers, 1, 4096, "packets",
           "Card: read requests it can hold", "assumed");
}

}  // namespace spyre::model
