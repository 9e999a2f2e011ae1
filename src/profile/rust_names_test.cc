// SPDX-License-Identifier: Apache-2.0
#include "profile/rust_names.h"

#include <gtest/gtest.h>

#include <string>

#include "base/random.h"

namespace elision::profile {
namespace {

struct Known {
  const char* symbol;
  const char* name;
};

/// By rustc 1.95 with -C symbol-mangling-version=v0. The names are those that binutils 2.40 gives them
/// (c++filt), without hashes of crates and types of constants.
constexpr Known kByRustc[] = {
    {"_RINvCsh537bOAIRKx_3lib7genericAAnj3_j12_EB2_", "lib::generic::<[[i128; 3]; 18]>"},
    {"_RINvCsh537bOAIRKx_3lib7genericDG_INtNtNtCsgEmfK2I1SDS_4core3ops8function2FnTRL0_hEEp6OutputtEL_EB2_",
     "lib::generic::<dyn for<'a> core::ops::function::Fn<(&'a u8,), Output = u16>>"},
    {"_RINvCsh537bOAIRKx_3lib7genericDG_INtNtNtCsgEmfK2I1SDS_4core3ops8function2FnTRL0_hRL0_hEEp6OutputRL0_"
     "hEL_EB2_",
     "lib::generic::<dyn for<'a> core::ops::function::Fn<(&'a u8, &'a u8), Output = &'a u8>>"},
    {"_RINvCsh537bOAIRKx_3lib7genericDNtNtNtNtCsgEmfK2I1SDS_4core4iter6traits8iterator8Iteratorp4ItemhNtNtBB_"
     "6marker4SendEL_EB2_",
     "lib::generic::<dyn core::iter::traits::iterator::Iterator<Item = u8> + core::marker::Send>"},
    {"_RINvCsh537bOAIRKx_3lib7genericFG_hRL0_eEbEB2_", "lib::generic::<for<'a> fn(u8, &'a str) -> bool>"},
    {"_RINvCsh537bOAIRKx_3lib7genericFUKCPhOaEuEB2_",
     "lib::generic::<unsafe extern \"C\" fn(*const u8, *mut i8)>"},
    {"_RINvCsh537bOAIRKx_3lib7genericINtNtCsgEmfK2I1SDS_4core6option6OptionINtNtCslNYArtu3iFV_"
     "5alloc5boxed3BoxDNtNtBx_3fmt5DebugEL_EEEB2_",
     "lib::generic::<core::option::Option<alloc::boxed::Box<dyn core::fmt::Debug>>>"},
    {"_RINvCsh537bOAIRKx_3lib7genericQSReEB2_", "lib::generic::<&mut [&str]>"},
    {"_RINvCsh537bOAIRKx_3lib7genericTmdcuEEB2_", "lib::generic::<(u32, f64, char, ())>"},
    {"_RINvXs_NvMNtCslNYArtu3iFV_5alloc5sliceSp9to_vec_inhNtB5_10ConvertVec6to_vecNtNtBa_"
     "5alloc6GlobalECsh537bOAIRKx_3lib",
     "<u8 as <[_]>::to_vec_in::ConvertVec>::to_vec::<alloc::alloc::Global>"},
    {"_RINvYINtNtNtCsgEmfK2I1SDS_4core5slice4iter4IterxENtNtNtNtBa_"
     "4iter6traits8iterator8Iterator3mapxNCNvCsh537bOAIRKx_3lib7callers0EB1z_",
     "<core::slice::iter::Iter<i64> as core::iter::traits::iterator::Iterator>::map::<i64, "
     "lib::callers::{closure#0}>"},
    {"_RNCNCNvCsh537bOAIRKx_3lib7callers00B5_", "lib::callers::{closure#0}::{closure#0}"},
    {"_RNCNvCsh537bOAIRKx_3lib3alls0_0B3_", "lib::all::{closure#2}"},
    {"_RNCNvCsh537bOAIRKx_3lib3alls_0B3_", "lib::all::{closure#1}"},
    {"_RNCNvCsh537bOAIRKx_3lib7callers0B3_", "lib::callers::{closure#0}"},
    {"_RNSNvYNCNvCsh537bOAIRKx_3lib3alls0_0INtNtNtCsgEmfK2I1SDS_4core3ops8function6FnOnceTRhB1j_EE9call_"
     "once6vtableB8_",
     "<lib::all::{closure#2} as core::ops::function::FnOnce<(&u8, &u8)>>::call_once::{shim:vtable#0}"},
    {"_RNSNvYNCNvCsh537bOAIRKx_3lib3alls_0INtNtNtCsgEmfK2I1SDS_4core3ops8function6FnOnceTRhEE9call_"
     "once6vtableB8_",
     "<lib::all::{closure#1} as core::ops::function::FnOnce<(&u8,)>>::call_once::{shim:vtable#0}"},
    {"_RNvCsh537bOAIRKx_3libu15grn_gre_5va0s2b", "lib::grün_größe"},
    {"_RNvCsh537bOAIRKx_3libu7_1lqs71d", "lib::東京"},
    {"_RNvMNtCsh537bOAIRKx_3lib6shapesINtB2_5PointhE4showB4_", "<lib::shapes::Point<u8>>::show"},
    {"_RNvMs1_Csh537bOAIRKx_3libINtB5_5FixedKl7fffffff_Kb0_Kc2202_E3getB5_",
     "<lib::Fixed<2147483647, false, '∂'>>::get"},
    {"_RNvMs1_Csh537bOAIRKx_3libINtB5_5FixedKln11_Kb1_Kc71_E3getB5_", "<lib::Fixed<-17, true, 'q'>>::get"},
    {"_RNvNvNtCsgEmfK2I1SDS_4core4hint16assert_unchecked18precondition_checkCsh537bOAIRKx_3lib",
     "core::hint::assert_unchecked::precondition_check"},
    {"_RNvXCsh537bOAIRKx_3libAhj5_NtB2_4Area4area", "<[u8; 5] as lib::Area>::area"},
    {"_RNvXs0_Csh537bOAIRKx_3libReNtB5_4Area4area", "<&str as lib::Area>::area"},
    {"_RNvXs_Csh537bOAIRKx_3libTtENtB4_4Area4area", "<(u16,) as lib::Area>::area"},
    {"_RNvXs_NtCsh537bOAIRKx_3lib6shapesINtB4_5PointhENtNtCsgEmfK2I1SDS_4core5clone5Clone5cloneB6_",
     "<lib::shapes::Point<u8> as core::clone::Clone>::clone"},
    {"_RNvYNCNvCsh537bOAIRKx_3lib3alls0_0INtNtNtCsgEmfK2I1SDS_4core3ops8function6FnOnceTRhB1h_EE9call_"
     "onceB6_",
     "<lib::all::{closure#2} as core::ops::function::FnOnce<(&u8, &u8)>>::call_once"},
    {"_RNvYNCNvCsh537bOAIRKx_3lib3alls_0INtNtNtCsgEmfK2I1SDS_4core3ops8function6FnOnceTRhEE9call_onceB6_",
     "<lib::all::{closure#1} as core::ops::function::FnOnce<(&u8,)>>::call_once"},
};

TEST(RustNames, AreThoseInTheSource) {
  for (const Known& known : kByRustc) EXPECT_EQ(rust_name(known.symbol), known.name) << known.symbol;
}

/// RFC 2603, in its sections on the grammar, and what the compiler adds.
TEST(RustNames, OfTheRulesOneByOne) {
  for (const Known& known : {
           Known{"_RNvC7mycrate3foo", "mycrate::foo"},
           Known{"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
           Known{"_RNvNvC7mycrate3foo3bar", "mycrate::foo::bar"},
           Known{"_RNCNvC7mycrate3foos_0", "mycrate::foo::{closure#1}"},
           Known{"_RNCNvC7mycrate3foo3baz", "mycrate::foo::{closure:baz#0}"},
           Known{"_RNSC7mycrate3foo", "mycrate::{shim:foo#0}"},
           Known{"_RNZC7mycrate3foo", "mycrate::{Z:foo#0}"},
           Known{"_RINvC7mycrate3fooppE", "mycrate::foo::<_, _>"},
           Known{"_RINvC7mycrate3fooL_E", "mycrate::foo::<'_>"},
           Known{"_RINvC7mycrate3fooFG0_RL1_hRL0_tEuE", "mycrate::foo::<for<'a, 'b> fn(&'a u8, &'b u16)>"},
           Known{"_RINvC7mycrate3fooDC5TraitEL_E", "mycrate::foo::<dyn Trait>"},
           Known{"_RINvC7mycrate3fooKb0_E", "mycrate::foo::<false>"},
           Known{"_RINvC7mycrate3fooKinff_E", "mycrate::foo::<-255>"},
           Known{"_RINvC7mycrate3fooKofedcba9876543210fedcba9876543210_E",
                 "mycrate::foo::<0xfedcba9876543210fedcba9876543210>"},
           Known{"_RNvC7mycrate3_123", "mycrate::123"},
           Known{"_RNvC7mycrate3foo.llvm.123", "mycrate::foo"},
           Known{"_RNvC7mycrate3foo.cold", "mycrate::foo [clone .cold]"},
           Known{"_RNvC7mycrate3fooC5other", "mycrate::foo"},
       })
    EXPECT_EQ(rust_name(known.symbol), known.name) << known.symbol;
}

TEST(RustNames, OthersAreNotOfTheScheme) {
  for (const char* const symbol : {"",
                                   "_R",
                                   "R",
                                   "main",
                                   "_ZN4core3ptr4dropE",
                                   "_RN",
                                   "_RNvC7mycrate",
                                   "_RNvC7mycrate9foo",
                                   "_RNvC7mycrate3foo!",
                                   "_R0NvC7mycrate3foo",
                                   "_RNvC7mycrateB_3foo",
                                   "_RNvC7mycrateB8_3foo",
                                   "_RINvC7mycrate3fooL0_E",
                                   "_RINvC7mycrate3fooKb2_E",
                                   "_RINvC7mycrate3fooKcd800_E",
                                   "_RINvC7mycrate3fooDC5TraitE",
                                   "_RNvC7mycrate99999999999999999999foo",
                                   "_RNvCsZZZZZZZZZZZZZZ_7mycrate3foo",
                                   "_RNvC7mycrateu3_!!",
                                   "_RINvC7mycrate3fooFGZZZZ_EuE"})
    EXPECT_EQ(rust_name(symbol), std::nullopt) << symbol;
}

TEST(RustNames, EveryCutAndEveryOtherByteEnds) {
  Random random(1);
  for (const Known& known : kByRustc) {
    const std::string symbol = known.symbol;
    for (std::size_t length = 0; length < symbol.size(); ++length) (void)rust_name(symbol.substr(0, length));
    for (std::size_t at = 2; at < symbol.size(); ++at) {
      std::string other = symbol;
      other[at] = static_cast<char>(random.below(256));
      (void)rust_name(other);
    }
  }
}

/// A function of a list of tuples, each of which is twice the one before.
std::string with_tuples(int count) {
  std::string symbol = "_RINvC1a1bTC1cC1cE";
  std::size_t before = symbol.find('T') - 2;  // places count from behind "_R"
  for (int i = 0; i < count; ++i) {
    std::string place;
    for (std::size_t rest = before - 1; rest > 0; rest /= 62)
      place.insert(place.begin(),
                   "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[rest % 62]);
    before = symbol.size() - 2;
    symbol += "TB" + place + "_B" + place + "_E";
  }
  return symbol + "E";
}

TEST(RustNames, TimeAndMemoryAreBounded) {
  EXPECT_EQ(rust_name(with_tuples(2)),
            "a::b::<(c, c), ((c, c), (c, c)), (((c, c), (c, c)), ((c, c), (c, c)))>");
  EXPECT_EQ(rust_name(with_tuples(60)), std::nullopt);
  EXPECT_EQ(rust_name("_RINvC1a1b" + std::string(1000000, 'R') + "hE"), std::nullopt);
  EXPECT_EQ(rust_name("_R" + std::string(1000000, 'N')), std::nullopt);
  EXPECT_EQ(rust_name("_RNvC1a" + std::string(100000, '9') + "b"), std::nullopt);
  EXPECT_EQ(rust_name("_RNvC1au1000000_" + std::string(1000000, 'a')), std::nullopt) << "Punycode";
}

}  // namespace
}  // namespace elision::profile
