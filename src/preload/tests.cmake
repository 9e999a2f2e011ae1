# SPDX-License-Identifier: Apache-2.0
# Whole-program tests: small programs run with the library preloaded.
find_package(Threads REQUIRED)

add_library(early_locker SHARED test_programs/early_locker.cc)
set_target_properties(early_locker PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
# Linked without naming the C library, so that its references have no symbol versions.
add_library(unversioned SHARED test_programs/unversioned.cc)
target_link_options(unversioned PRIVATE -nostdlib)
set_target_properties(unversioned PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_executable(preload_semantics_test semantics_test.cc rwlock_semantics_test.cc interruption_semantics_test.cc)
target_include_directories(preload_semantics_test PRIVATE ${CMAKE_SOURCE_DIR}/src)
# The last one linked is initialised first.
target_link_libraries(preload_semantics_test PRIVATE elision_test_main Threads::Threads unversioned early_locker)
set_target_properties(preload_semantics_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

# Every design, for the tests here and in tests/programs.
set(ELISION_TESTED_DESIGNS pthread glibc-elision tts tatas ticket ttstle htm-1 htm-10 htm-10-fb-aahtm hle-scm tatas-aahtm
  tatas-pri-aahtm ticket-aahtm pthread-aahtm CACHE INTERNAL "")
add_test(NAME preload_semantics/glibc COMMAND preload_semantics_test)
set(native_tests)
foreach(design IN LISTS ELISION_TESTED_DESIGNS)
  foreach(wait park spin)
    foreach(variant default paper)
      set(name preload_semantics/${design}-${wait}-${variant})
      add_test(NAME ${name} COMMAND preload_semantics_test)
      set(environment
        "LD_PRELOAD=$<TARGET_FILE:elision_preload>" ELISION_LOCK=${design} ELISION_WAIT=${wait}
        ELISION_RTM_ALWAYS_ABORT=1)
      if(variant STREQUAL paper)
        list(APPEND environment ELISION_BUSY=inside ELISION_MIN_DIST=1 ELISION_SPECULATION=abort-at-unlock
          ELISION_RWLOCK=exclusive ELISION_CONDITION=aware)
      endif()
      set_tests_properties(${name} PROPERTIES ENVIRONMENT "${environment}" TIMEOUT 1200)
      list(APPEND native_tests ${name})
    endforeach()
  endforeach()
  foreach(condition glibc busy)
    set(name preload_semantics/${design}-${condition}-conditions)
    add_test(NAME ${name} COMMAND preload_semantics_test)
    set_tests_properties(${name} PROPERTIES TIMEOUT 1200 ENVIRONMENT
      "LD_PRELOAD=$<TARGET_FILE:elision_preload>;ELISION_LOCK=${design};ELISION_CONDITION=${condition}")
    list(APPEND native_tests ${name})
  endforeach()
endforeach()

add_executable(preload_worker test_programs/worker.cc)
target_link_libraries(preload_worker PRIVATE Threads::Threads)
set_target_properties(preload_worker PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
# The same program with the library linked into it, from its place in the build.
add_executable(preload_linked_worker test_programs/worker.cc)
target_link_libraries(preload_linked_worker PRIVATE elision_preload Threads::Threads)
add_executable(preload_both_ends test_programs/both_ends.cc)
target_link_libraries(preload_both_ends PRIVATE Threads::Threads)
add_library(locking_malloc SHARED test_programs/locking_malloc.cc)
add_executable(preload_no_allocation test_programs/no_allocation.cc)
target_link_libraries(preload_no_allocation PRIVATE Threads::Threads)
set_target_properties(preload_linked_worker preload_both_ends locking_malloc preload_no_allocation PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
elision_test(preload_counters_test NATIVE SOURCES counters_test.cc LIBRARIES elision_htm)
target_compile_definitions(preload_counters_test PRIVATE
  ELISION_TEST_LIBRARY="$<TARGET_FILE:elision_preload>"
  ELISION_TEST_LIBRARY_NOSUBSCRIPTION="$<TARGET_FILE:elision_preload_nosubscription>"
  ELISION_TEST_BOTH_ENDS="$<TARGET_FILE:preload_both_ends>"
  ELISION_TEST_LINKED_WORKER="$<TARGET_FILE:preload_linked_worker>"
  ELISION_TEST_LOCKING_MALLOC="$<TARGET_FILE:locking_malloc>"
  ELISION_TEST_WORKER="$<TARGET_FILE:preload_worker>")
add_dependencies(preload_counters_test elision_preload elision_preload_nosubscription preload_worker
  preload_linked_worker preload_both_ends locking_malloc)

# With libelision-api beside it, shared and static.
foreach(library elision_api elision_api_static)
  string(REPLACE elision_api activity_worker worker ${library})
  add_executable(${worker} test_programs/activity_worker.cc)
  target_include_directories(${worker} PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(${worker} PRIVATE ${library} Threads::Threads)
  set_target_properties(${worker} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endforeach()
elision_test(preload_activity_test NATIVE SOURCES activity_test.cc LIBRARIES elision_htm)
target_compile_definitions(preload_activity_test PRIVATE
  ELISION_TEST_LIBRARY="$<TARGET_FILE:elision_preload>"
  ELISION_TEST_WORKER="$<TARGET_FILE:activity_worker>"
  ELISION_TEST_STATIC_WORKER="$<TARGET_FILE:activity_worker_static>")
add_dependencies(preload_activity_test elision_preload activity_worker activity_worker_static)

foreach(design IN LISTS ELISION_TESTED_DESIGNS)
  foreach(wait park spin)
    add_test(NAME preload_no_allocation/${design}-${wait} COMMAND preload_no_allocation)
    set_tests_properties(preload_no_allocation/${design}-${wait} PROPERTIES TIMEOUT 1200 SKIP_RETURN_CODE 77 ENVIRONMENT
      "LD_PRELOAD=$<TARGET_FILE:elision_preload>;ELISION_LOCK=${design};ELISION_WAIT=${wait};ELISION_RTM_ALWAYS_ABORT=1")
    list(APPEND native_tests preload_no_allocation/${design}-${wait})
  endforeach()
endforeach()
elision_native_tests(${native_tests})
# Tests of the test: it must notice these.
foreach(way malloc mmap)
  add_test(NAME preload_no_allocation/notices-${way} COMMAND preload_no_allocation ${way})
  set_tests_properties(preload_no_allocation/notices-${way} PROPERTIES SKIP_RETURN_CODE 77)
endforeach()
set_tests_properties(preload_no_allocation/notices-malloc PROPERTIES PASS_REGULAR_EXPRESSION "^malloc")
set_tests_properties(preload_no_allocation/notices-mmap PROPERTIES PASS_REGULAR_EXPRESSION "^system call 9")

add_test(NAME preload_links COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/check_links.sh $<TARGET_FILE:elision_preload>)
