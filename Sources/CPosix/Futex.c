#define _GNU_SOURCE
#include "CPosix.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

int posix_futex_wait(const uint32_t *word, uint32_t expected, const struct timespec *deadline) {
    // FUTEX_WAIT_BITSET takes an absolute deadline; plain FUTEX_WAIT would take a relative one.
    long result = syscall(SYS_futex, word, FUTEX_WAIT_BITSET, expected, deadline, NULL, FUTEX_BITSET_MATCH_ANY);
    return result == 0 ? 0 : errno;
}

int posix_futex_wait_any(const struct posix_futex *futexes, size_t count, const struct timespec *deadline) {
    // As <linux/futex.h> has them since 5.16; all words are woken as shared ones.
    enum { number_of_futex_waitv = 449, futex_32 = 2 };
    struct { uint64_t expected, address; uint32_t flags, reserved; } waiters[posix_most_futexes];
    for (size_t i = 0; i < count; i++) {
        waiters[i].expected = futexes[i].expected;
        waiters[i].address = (uintptr_t)futexes[i].word;
        waiters[i].flags = futex_32;
        waiters[i].reserved = 0;
    }
    long result = syscall(number_of_futex_waitv, waiters, count, 0, deadline, CLOCK_MONOTONIC);
    return result >= 0 ? 0 : errno;
}

int posix_futex_wake(const uint32_t *word, int most) {
    long result = syscall(SYS_futex, word, FUTEX_WAKE, most, NULL, NULL, 0);
    return result < 0 ? 0 : (int)result;
}
