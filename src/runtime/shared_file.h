// SPDX-License-Identifier: Apache-2.0
// Memory shared with a reader through a file.
//
// A store to a page of a file for which the file system has no room raises SIGBUS. So room is reserved before
// memory is used. No allocation; errno is the caller's to keep.
#pragma once

#include <cstddef>

namespace elision::runtime {

/// Creates `path`, which must not exist. Returns its descriptor, or -1 and errno: EFBIG if the process may
/// not write files of `bytes`.
int create_shared_file(const char* path, std::size_t bytes);

/// Gives the file `bytes` and maps it with room for the first `reserved` of them; at `place` if that is not
/// null. Closes the descriptor. On failure MAP_FAILED and errno; the caller removes the file.
void* map_shared_file(int file, std::size_t bytes, std::size_t reserved, void* place);

/// Reserves room on the file system for whole pages of a mapped file. False: there is none.
bool has_room(void* memory, std::size_t bytes);

}  // namespace elision::runtime
