// SPDX-License-Identifier: Apache-2.0
/* The version of this firmware: plain numbers, for C, C++ and whoever packs an image. */
#ifndef SPYRE_FIRMWARE_VERSION_H_
#define SPYRE_FIRMWARE_VERSION_H_

#define FW_VERSION_MAJOR 1u
#define FW_VERSION_MINOR 0u
#define FW_BUILD 1u /* counts up with every release of one version */

#endif /* SPYRE_FIRMWARE_VERSION_H_ */
