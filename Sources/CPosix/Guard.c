#define _GNU_SOURCE
#include "CPosix.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

// Only the faulting thread's own handler touches these, so `volatile` is enough; initial-exec TLS keeps the access
// free of lazy allocation inside the handler.
static _Thread_local __attribute__((tls_model("initial-exec"))) struct {
    void *volatile base;
    volatile size_t size;
    volatile bool faulted;
} guard;

static struct sigaction previous;

static void on_sigbus(int signal, siginfo_t *info, void *context) {
    uintptr_t address = (uintptr_t)info->si_addr, base = (uintptr_t)guard.base;
    if (base != 0 && address >= base && address - base < guard.size) {
        // The whole range at once: a reader that crosses many lost pages faults only once.
        void *overlay = mmap(guard.base, guard.size, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        if (overlay != MAP_FAILED) {
            guard.faulted = true;
            return;
        }
    }
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

void posix_guard_enter(void *base, size_t size) {
    guard.faulted = false;
    guard.size = size;
    guard.base = base;
}

bool posix_guard_leave(void) {
    guard.base = NULL;
    return guard.faulted;
}
