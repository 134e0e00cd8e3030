// SPDX-License-Identifier: Apache-2.0
// Sockets bind to those of their own protocol, and to no others: a wrong binding does not compile.
#include <gtest/gtest.h>

#include <type_traits>

#include "model/card/card.h"
#include "model/root_port/root_port.h"

namespace spyre::model::socket_types_test {
namespace {

template <typename From, typename To, typename = void>
struct Binds : std::false_type {};
template <typename From, typename To>
struct Binds<From, To, std::void_t<decltype(std::declval<From&>().bind(std::declval<To&>()))>>
    : std::true_type {};

struct Module : sc_core::sc_module {};
using BusInitiator = tlm_utils::simple_initiator_socket<Module>;
using BusTarget = tlm_utils::simple_target_socket<Module>;

TEST(SocketTypes, TheBaseProtocolBindsToTheRootPortOnly) {
  EXPECT_TRUE((Binds<BusInitiator, BusTarget>::value));
  EXPECT_TRUE((Binds<BusInitiator, decltype(RootPort<>::from_bus)>::value));
  EXPECT_TRUE((Binds<decltype(RootPort<>::to_bus), BusTarget>::value));
  EXPECT_FALSE((Binds<BusInitiator, decltype(PcieEndpoint::inbound)>::value));
  EXPECT_FALSE((Binds<BusInitiator, decltype(PcieEndpoint::dma)>::value));
  EXPECT_FALSE((Binds<BusInitiator, decltype(DeviceMemory::socket)>::value));
  EXPECT_FALSE((Binds<BusInitiator, decltype(Ring::core_socket)>::value));
  EXPECT_FALSE((Binds<decltype(PcieEndpoint::outbound), BusTarget>::value));
}

TEST(SocketTypes, ProtocolsOfTheCardDoNotMix) {
  EXPECT_TRUE((Binds<decltype(PcieEndpoint::window), decltype(DeviceMemory::socket)>::value));
  EXPECT_FALSE((Binds<decltype(PcieEndpoint::outbound), decltype(PcieEndpoint::inbound)>::value));
  EXPECT_FALSE((Binds<decltype(DmaEngine::host), decltype(PcieEndpoint::inbound)>::value));
  EXPECT_TRUE((Binds<decltype(DmaEngine::host), decltype(PcieEndpoint::dma)>::value));
}

}  // namespace
}  // namespace spyre::model::socket_types_test
