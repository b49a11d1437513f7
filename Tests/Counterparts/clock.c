/* Loaded into oriel (LD_PRELOAD): the system's clock was set. A file has how far, in seconds, and may be written at any time.

   ORIEL_CLOCK  the file, of 8 bytes */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

typedef int gettime(clockid_t, struct timespec *);
static gettime *real;
static const _Atomic int64_t *ahead;

/* The sandbox is not closed yet. */
__attribute__((constructor)) static void begin(void) {
    real = (gettime *)dlsym(RTLD_NEXT, "clock_gettime");
    const char *path = getenv("ORIEL_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *memory = mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, file, 0);
    if (memory != MAP_FAILED) ahead = memory;
    close(file);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (!real) real = (gettime *)dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, time);
    if (clock == CLOCK_REALTIME && ahead) time->tv_sec += (time_t)*ahead;
    return result;
}
