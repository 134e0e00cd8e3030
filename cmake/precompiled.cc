// SPDX-License-Identifier: Apache-2.0
// Precompiled headers belong to a target, and a target needs a source.
