//===- Options.h - What a dispatcher is asked to do -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_MOE_OPTIONS_H
#define SHUNT_RUNTIME_MOE_OPTIONS_H

#include "Error.h"
#include "Shunt/Core/Routing.h"
#include "shunt/moe.h"

namespace shunt::rt {

/// An INVALID_ARGUMENT error about options.
Error invalidOption(const std::string &message);

/// Fills in defaults and checks what does not depend on the group.
Error resolveOptions(shunt_moe_options &options);

/// The placement that the options ask for.
Error placeExperts(const shunt_moe_options &options, int64_t ranks,
                   std::optional<Placement> &placement);

/// Everything on which members must agree, in words that can be compared.
std::vector<int64_t> agreementWords(const shunt_moe_options &options,
                                    const Placement &placement,
                                    const std::vector<uint8_t> &active,
                                    const std::vector<int64_t> &staticCounts,
                                    bool direct);

/// Compares the words of all members, which follow each other; `ranks` are the
/// members. MISMATCH names the first option that differs.
Error checkWords(const std::vector<int64_t> &all,
                 const std::vector<int64_t> &ranks);

} // namespace shunt::rt

#endif // SHUNT_RUNTIME_MOE_OPTIONS_H
