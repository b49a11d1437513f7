#define _GNU_SOURCE
#include "CPosix.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int posix_spawn_detached(pid_t *child, const char *path, char *const arguments[], const char *log) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, log, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW, 0600);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    int code = posix_spawn(child, path, &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

int posix_spawn_child(pid_t *child, const char *path, char *const arguments[], char *const variables[], int output) {
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid < 0) return errno;
    if (pid > 0) {
        *child = pid;
        return 0;
    }
    // A group of its own: what the terminal sends goes to the parent, which ends its children in order.
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(1);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) dup2(null, 0);
    if (output >= 0) dup2(output, 1);
    for (; *variables != NULL; variables++) putenv(*variables);
    execv(path, arguments);
    _exit(127);
}

int posix_pidfd(pid_t child) { return (int)syscall(SYS_pidfd_open, child, 0); }
