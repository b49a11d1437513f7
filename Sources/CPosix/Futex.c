#define _GNU_SOURCE
#include "CPosix.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

int posix_futex_wait(const uint32_t *word, uint32_t expected, const struct timespec *deadline) {
    // FUTEX_WAIT_BITSET takes an absolute deadline; plain FUTEX_WAIT would take a relative one.
    long result = syscall(SYS_futex, word, FUTEX_WAIT_BITSET, expected, deadline, NULL, FUTEX_BITSET_MATCH_ANY);
    return result == 0 ? 0 : errno;
}

int posix_futex_wake_all(const uint32_t *word) {
    long result = syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    return result < 0 ? 0 : (int)result;
}
