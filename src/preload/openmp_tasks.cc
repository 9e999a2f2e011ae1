// SPDX-License-Identifier: Apache-2.0
// The functions that create OpenMP tasks. Calls are noticed and passed on: a team with tasks uses its
// runtime's barrier (runtime/openmp_team.h). Arguments are words, as the System V ABI passes integers and
// pointers.
#include <cstdint>

#include "preload/exported.h"
#include "runtime/openmp_runtime.h"
#include "runtime/openmp_team.h"
#include "runtime/process.h"

namespace {

using elision::runtime::OpenMpFunction;
using elision::runtime::Process;
using Word = std::uintptr_t;

void notice() {
  if (elision::runtime::owns(&Process::barriers)) elision::runtime::team_gets_tasks();
}

template <class Result, class... Words>
Result notice_and_call(OpenMpFunction<Result(Words...)>& original, const void* site, Words... words) {
  notice();
  return original.at(site)(words...);
}

}  // namespace

// ---- libgomp. An older program passes fewer words; its flags then say that the others are unused.

ELISION_EXPORT void GOMP_task(Word body, Word data, Word copy, Word size, Word alignment, Word condition,
                              Word flags, Word depend, Word priority, Word detach) {
  static constinit OpenMpFunction<void(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word)> original{
      "GOMP_task"};
  notice_and_call(original, ELISION_CALL_SITE, body, data, copy, size, alignment, condition, flags, depend,
                  priority, detach);
}

using Taskloop = OpenMpFunction<void(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word)>;

ELISION_EXPORT void GOMP_taskloop(Word body, Word data, Word copy, Word size, Word alignment, Word flags,
                                  Word tasks, Word priority, Word start, Word end, Word step) {
  static constinit Taskloop original{"GOMP_taskloop"};
  notice_and_call(original, ELISION_CALL_SITE, body, data, copy, size, alignment, flags, tasks, priority,
                  start, end, step);
}

ELISION_EXPORT void GOMP_taskloop_ull(Word body, Word data, Word copy, Word size, Word alignment, Word flags,
                                      Word tasks, Word priority, Word start, Word end, Word step) {
  static constinit Taskloop original{"GOMP_taskloop_ull"};
  notice_and_call(original, ELISION_CALL_SITE, body, data, copy, size, alignment, flags, tasks, priority,
                  start, end, step);
}

ELISION_EXPORT void GOMP_target_ext(Word device, Word body, Word count, Word addresses, Word sizes,
                                    Word kinds, Word flags, Word depend, Word arguments) {
  static constinit OpenMpFunction<void(Word, Word, Word, Word, Word, Word, Word, Word, Word)> original{
      "GOMP_target_ext"};
  notice_and_call(original, ELISION_CALL_SITE, device, body, count, addresses, sizes, kinds, flags, depend,
                  arguments);
}

using TargetData = OpenMpFunction<void(Word, Word, Word, Word, Word, Word, Word)>;

ELISION_EXPORT void GOMP_target_update_ext(Word device, Word count, Word addresses, Word sizes, Word kinds,
                                           Word flags, Word depend) {
  static constinit TargetData original{"GOMP_target_update_ext"};
  notice_and_call(original, ELISION_CALL_SITE, device, count, addresses, sizes, kinds, flags, depend);
}

ELISION_EXPORT void GOMP_target_enter_exit_data(Word device, Word count, Word addresses, Word sizes,
                                                Word kinds, Word flags, Word depend) {
  static constinit TargetData original{"GOMP_target_enter_exit_data"};
  notice_and_call(original, ELISION_CALL_SITE, device, count, addresses, sizes, kinds, flags, depend);
}

// These two (since gcc 13) create their task without GOMP_task.

ELISION_EXPORT int omp_target_memcpy_async(Word to, Word from, Word length, Word to_offset, Word from_offset,
                                           Word to_device, Word from_device, Word count, Word depend) {
  static constinit OpenMpFunction<int(Word, Word, Word, Word, Word, Word, Word, Word, Word)> original{
      "omp_target_memcpy_async"};
  return notice_and_call(original, ELISION_CALL_SITE, to, from, length, to_offset, from_offset, to_device,
                         from_device, count, depend);
}

ELISION_EXPORT int omp_target_memcpy_rect_async(Word to, Word from, Word size, Word dimensions, Word volume,
                                                Word to_offsets, Word from_offsets, Word to_dimensions,
                                                Word from_dimensions, Word to_device, Word from_device,
                                                Word count, Word depend) {
  static constinit OpenMpFunction<int(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word,
                                      Word)>
      original{"omp_target_memcpy_rect_async"};
  return notice_and_call(original, ELISION_CALL_SITE, to, from, size, dimensions, volume, to_offsets,
                         from_offsets, to_dimensions, from_dimensions, to_device, from_device, count, depend);
}

// ---- libomp: one of these first allocates every explicit task.

ELISION_EXPORT Word __kmpc_omp_task_alloc(Word place, Word thread, Word flags, Word size, Word shared_size,
                                          Word body) {
  static constinit OpenMpFunction<Word(Word, Word, Word, Word, Word, Word)> original{"__kmpc_omp_task_alloc"};
  return notice_and_call(original, ELISION_CALL_SITE, place, thread, flags, size, shared_size, body);
}

ELISION_EXPORT Word __kmpc_omp_target_task_alloc(Word place, Word thread, Word flags, Word size,
                                                 Word shared_size, Word body, Word device) {
  static constinit OpenMpFunction<Word(Word, Word, Word, Word, Word, Word, Word)> original{
      "__kmpc_omp_target_task_alloc"};
  return notice_and_call(original, ELISION_CALL_SITE, place, thread, flags, size, shared_size, body, device);
}
