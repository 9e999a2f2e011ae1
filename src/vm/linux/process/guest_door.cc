// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/process/guest_door.h"

namespace elision::vm {

void ProcessDoor::open(std::uint64_t address, std::uint64_t size, bool write) {
  if (address >= kUserAddressEnd || size > kUserAddressEnd - address) return;
  if (!process_.memory.regions().find(address)) return;
  process_.services.host_access(process_.acting, address, size, write);
}

}  // namespace elision::vm
