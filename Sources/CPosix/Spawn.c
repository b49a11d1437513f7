#define _GNU_SOURCE
#include "CPosix.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/// Greater than the numbers of the program's descriptors.
enum { FIRST_FREE = 16 };

/// Runs in the child, which shares its parent's memory, and may only call functions that are safe in a signal handler. In glibc,
/// execvpe is one.
/// Returns if the program cannot be started.
static void become(const struct posix_program *program, pid_t parent) {
    if (program->tie == POSIX_TIE_SESSION) setsid();
    if (program->tie == POSIX_TIE_CHILD) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent) _exit(1);
    }
    // A handler of the parent would run in its memory. The program ignores the same signals, unless it is of the group.
    for (int number = 1; number < NSIG; number++) {
        struct sigaction action;
        if (sigaction(number, NULL, &action) != 0) continue;
        if (program->tie == POSIX_TIE_GROUP || action.sa_handler != SIG_IGN) signal(number, SIG_DFL);
    }
    // Move all descriptors away first: one may have the number of another one's new place.
    int moved[FIRST_FREE];
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0) return;
    if (program->rules >= 0 && posix_landlock_enter(program->rules) != 0) return;
    for (int index = 0; index < program->count; index++) {
        int source = program->descriptors[index] < 0 ? null : program->descriptors[index];
        moved[index] = fcntl(source, F_DUPFD_CLOEXEC, FIRST_FREE);
        if (moved[index] < 0) {
            // The limit of open files is below FIRST_FREE.
            if (errno == EINVAL) errno = EMFILE;
            return;
        }
    }
    for (int index = 0; index < program->count; index++)
        if (dup2(moved[index], index) < 0) return;
    // Libraries open sockets that a program would inherit and keep open. Before Linux 5.9 it does.
    syscall(SYS_close_range, program->count, ~0U, 0);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execvpe(program->path, program->arguments, program->variables);
}

int posix_start(pid_t *child, const struct posix_program *program) {
    if (program->count > FIRST_FREE) return EINVAL;
    // No handler of the parent may run in the child.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t parent = getpid();
    volatile int code = 0;
    pid_t pid = vfork();
    if (pid == 0) {
        become(program, parent);
        code = errno;
        _exit(127);
    }
    if (pid < 0) code = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pid > 0 && code != 0) waitpid(pid, NULL, 0);
    *child = pid;
    return code;
}

int posix_pidfd(pid_t child) { return (int)syscall(SYS_pidfd_open, child, 0); }
