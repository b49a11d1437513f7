#include "CLimits.h"

#include <malloc.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/// What the constructors of all libraries take, four times over.
enum { LEAST_MEMORY = 8 << 20 };
/// Of the first thread, and of each other one that names no size: encoders and TLS need most of it.
enum { LEAST_STACK = 256 << 10 };

static void end(const char *sentence) {
    ssize_t written = write(2, sentence, strlen(sentence));
    (void)written;
    _exit(1);
}

void limits_require(int count, char **arguments, char **environment) {
    (void)count, (void)arguments, (void)environment;
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < LEAST_STACK)
        end("oriel: cannot start: raise the limit of the stack (ulimit -s)\n");
    void *memory = mmap(NULL, LEAST_MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        end("oriel: cannot start: raise the limits of memory (ulimit -v, ulimit -d), or close other programs\n");
    munmap(memory, LEAST_MEMORY);
    // For each thread glibc would reserve 64 MiB of what `ulimit -v` allows, and leave none for the next one's stack.
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) mallopt(M_ARENA_MAX, 1);
}

// Constructors of the program run after those of its libraries, whatever their priority.
__attribute__((section(".preinit_array"), used, retain)) static void (*const first)(int, char **, char **) = limits_require;
