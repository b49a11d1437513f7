#define _GNU_SOURCE
#include "CPosix.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>

/* What the C library's headers may be too old for. */
enum { memfd_noexec_seal = 0x0008, seal_future_write = 0x0010, seal_exec = 0x0020 };

enum { needed_seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | seal_future_write };

int posix_memory_create(const char *name) {
    int descriptor = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | memfd_noexec_seal);
    if (descriptor >= 0 || errno != EINVAL) return descriptor;
    /* Before Linux 6.3. */
    return memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

int posix_memory_seal(int descriptor) { return fcntl(descriptor, F_ADD_SEALS, needed_seals); }

bool posix_memory_is_sealed(int descriptor) {
    int seals = fcntl(descriptor, F_GET_SEALS);
    return seals >= 0 && (seals & needed_seals) == needed_seals;
}

void posix_memory_return(int size) { mallopt(M_MMAP_THRESHOLD, size); }
