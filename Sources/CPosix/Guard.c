#define _GNU_SOURCE
#include "CPosix.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

// The innermost guard of this thread. Only the faulting thread's own handler touches it, so `volatile` is enough;
// initial-exec TLS keeps the access free of lazy allocation inside the handler.
static _Thread_local __attribute__((tls_model("initial-exec"))) struct posix_guard *volatile innermost;

static struct sigaction previous;

static void on_sigbus(int signal, siginfo_t *info, void *context) {
    uintptr_t address = (uintptr_t)info->si_addr;
    bool handled = false;
    for (struct posix_guard *guard = innermost; guard != NULL; guard = guard->outer) {
        if (address < (uintptr_t)guard->base || address - (uintptr_t)guard->base >= guard->size) continue;
        // The whole range at once: a reader that crosses many lost pages faults only once.
        if (!handled && mmap(guard->base, guard->size, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) break;
        handled = true;
        guard->faulted = true;
    }
    if (handled) return;
    if (previous.sa_flags & SA_SIGINFO) {
        previous.sa_sigaction(signal, info, context);
    } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
        previous.sa_handler(signal);
    } else {
        sigaction(SIGBUS, &previous, NULL);  // returning faults again, now with the default action
    }
}

static void install(void) {
    struct sigaction action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &previous);
}

void posix_guard_install(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install);
}

void posix_guard_enter(struct posix_guard *guard, void *base, size_t size) {
    guard->base = base;
    guard->size = size;
    guard->faulted = false;
    guard->outer = innermost;
    innermost = guard;
}

bool posix_guard_leave(struct posix_guard *guard) {
    innermost = guard->outer;
    return guard->faulted;
}
