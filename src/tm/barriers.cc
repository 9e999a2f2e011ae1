// SPDX-License-Identifier: Apache-2.0
// Reads, writes and logging of each type of the ABI. The library has no use for what the compiler knows
// about earlier accesses (RaR and the like), so these forms do the same as the plain ones.
#include "tm/access.h"
#include "tm/exported.h"

namespace {

using M64 [[gnu::vector_size(8), gnu::may_alias]] = int;
using M128 [[gnu::vector_size(16), gnu::may_alias]] = float;
using M256 [[gnu::vector_size(32), gnu::may_alias]] = float;

}  // namespace

#define ELISION_TM_READ(name, Type, attributes)                        \
  ELISION_TM_EXPORT attributes Type _ITM_##name(const Type* address) { \
    Type value;                                                        \
    elision::tm::load(address, &value);                                \
    return value;                                                      \
  }
#define ELISION_TM_WRITE(name, Type, attributes)                             \
  ELISION_TM_EXPORT attributes void _ITM_##name(Type* address, Type value) { \
    elision::tm::store(address, &value);                                     \
  }
#define ELISION_TM_LOG(name, Type) \
  ELISION_TM_EXPORT void _ITM_##name(const Type* address) { elision::tm::log_own(address, sizeof *address); }
#define ELISION_TM_BARRIERS(name, Type, attributes) \
  ELISION_TM_READ(R##name, Type, attributes)        \
  ELISION_TM_READ(RaR##name, Type, attributes)      \
  ELISION_TM_READ(RaW##name, Type, attributes)      \
  ELISION_TM_READ(RfW##name, Type, attributes)      \
  ELISION_TM_WRITE(W##name, Type, attributes)       \
  ELISION_TM_WRITE(WaR##name, Type, attributes)     \
  ELISION_TM_WRITE(WaW##name, Type, attributes)     \
  ELISION_TM_LOG(L##name, Type)

ELISION_TM_BARRIERS(U1, std::uint8_t, )
ELISION_TM_BARRIERS(U2, std::uint16_t, )
ELISION_TM_BARRIERS(U4, std::uint32_t, )
ELISION_TM_BARRIERS(U8, std::uint64_t, )
ELISION_TM_BARRIERS(F, float, )
ELISION_TM_BARRIERS(D, double, )
ELISION_TM_BARRIERS(E, long double, )
ELISION_TM_BARRIERS(CF, __complex__ float, )
ELISION_TM_BARRIERS(CD, __complex__ double, )
ELISION_TM_BARRIERS(CE, __complex__ long double, )
ELISION_TM_BARRIERS(M64, M64, )
ELISION_TM_BARRIERS(M128, M128, )
ELISION_TM_BARRIERS(M256, M256, __attribute__((target("avx"))))

ELISION_TM_EXPORT void _ITM_LB(const void* address, std::size_t bytes) {
  elision::tm::log_own(address, bytes);
}
