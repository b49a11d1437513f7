#define _GNU_SOURCE
#include "CPosix.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#endif

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define SKIP_UNLESS(value, count) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (count))
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, (value))
#define REFUSE(code) RETURN(SECCOMP_RET_ERRNO | (code))

/* Calls that neither process has a use for: other programs, other processes, other namespaces, and ways around the
   filter. */
static const int refused[] = {
    SYS_execve, SYS_execveat, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_mount, SYS_umount2,
    SYS_pivot_root, SYS_chroot, SYS_setns, SYS_unshare, SYS_bpf, SYS_init_module, SYS_finit_module, SYS_kexec_load,
    SYS_keyctl, SYS_add_key, SYS_request_key, SYS_perf_event_open, SYS_userfaultfd, SYS_io_uring_setup,
    SYS_open_by_handle_at, SYS_reboot,
#ifdef SYS_fork
    SYS_fork, SYS_vfork,
#endif
};

static int filter_calls(const int *families, size_t family_count, bool may_listen) {
#ifdef NATIVE
    struct sock_filter program[128];
    size_t length = 0;
    size_t index;
#define ADD(...)                                                  \
    do {                                                          \
        const struct sock_filter steps[] = {__VA_ARGS__};         \
        for (size_t step = 0; step < sizeof steps / sizeof *steps; step++) program[length++] = steps[step]; \
    } while (0)
    if (family_count > 8) return EINVAL;
    ADD(LOAD(arch), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE, 1, 0), REFUSE(ENOSYS), LOAD(nr));
#ifdef __x86_64__
    /* The 32-bit pointer variant of the same architecture. */
    ADD(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1), REFUSE(ENOSYS));
#endif
    for (index = 0; index < sizeof refused / sizeof *refused; index++)
        ADD(SKIP_UNLESS(refused[index], 1), REFUSE(EPERM));
    /* The flags of clone3 lie in memory, where a filter cannot look; without it the C library uses clone. */
    ADD(SKIP_UNLESS(SYS_clone3, 1), REFUSE(ENOSYS));
    ADD(SKIP_UNLESS(SYS_clone, 4), LOAD(args[0]), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0),
        REFUSE(EPERM), RETURN(SECCOMP_RET_ALLOW));
    if (!may_listen) ADD(SKIP_UNLESS(SYS_listen, 1), REFUSE(EPERM));
    ADD(SKIP_UNLESS(SYS_socket, (unsigned char)(family_count * 2 + 2)), LOAD(args[0]));
    for (index = 0; index < family_count; index++)
        ADD(SKIP_UNLESS((unsigned)families[index], 1), RETURN(SECCOMP_RET_ALLOW));
    ADD(REFUSE(EPERM));
    ADD(RETURN(SECCOMP_RET_ALLOW));
    const struct sock_fprog filter = {.len = (unsigned short)length, .filter = program};
    long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter);
    return result == 0 ? 0 : result > 0 ? EAGAIN : errno;
#else
    (void)families, (void)family_count, (void)may_listen;
    return ENOSYS;
#endif
}

static int restrict_writing(const char *folder) {
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 1) return ENOSYS;
    const uint64_t writing = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE
                             | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG
                             | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK
                             | LANDLOCK_ACCESS_FS_MAKE_SYM;
    const struct landlock_ruleset_attr rules = {.handled_access_fs = writing | LANDLOCK_ACCESS_FS_EXECUTE};
    int set = (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0);
    if (set < 0) return errno;
    struct landlock_path_beneath_attr beneath = {.allowed_access = writing, .parent_fd = open(folder, O_PATH | O_CLOEXEC)};
    int code = 0;
    if (beneath.parent_fd < 0
        || syscall(SYS_landlock_add_rule, set, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0) != 0
        || syscall(SYS_landlock_restrict_self, set, 0) != 0)
        code = errno;
    if (beneath.parent_fd >= 0) close(beneath.parent_fd);
    close(set);
    return code;
}

int posix_sandbox(const char *folder, const int *families, size_t family_count, bool may_listen) {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
    int code = restrict_writing(folder);
    if (code != 0 && code != ENOSYS && code != EOPNOTSUPP) return code;
    code = filter_calls(families, family_count, may_listen);
    return code == ENOSYS || code == EINVAL ? 0 : code;
}
