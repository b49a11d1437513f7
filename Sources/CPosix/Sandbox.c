#define _GNU_SOURCE
#include "CPosix.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
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
    SYS_open_by_handle_at, SYS_reboot, SYS_open_tree, SYS_move_mount, SYS_fsopen, SYS_fsmount, SYS_fsconfig, SYS_fspick,
    SYS_kexec_file_load, SYS_delete_module, SYS_tkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_pidfd_send_signal,
    SYS_pidfd_getfd,
#ifdef SYS_mount_setattr
    SYS_mount_setattr,
#endif
#ifdef SYS_fork
    SYS_fork, SYS_vfork,
#endif
};

int posix_filter_calls(const int *families, size_t family_count, bool may_listen) {
#ifdef NATIVE
    struct sock_filter program[256];
    size_t length = 0;
    size_t index;
    const unsigned self = (unsigned)getpid();
#define ADD(...)                                                  \
    do {                                                          \
        const struct sock_filter steps[] = {__VA_ARGS__};         \
        for (size_t step = 0; step < sizeof steps / sizeof *steps; step++) program[length++] = steps[step]; \
    } while (0)
    if (family_count > 8) return EINVAL;
    /* Without a filter to set, EFAULT means that the kernel knows the flag; whatever fails later is the filter's fault. */
    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, NULL);
    if (errno != EFAULT) return errno == EINVAL ? ENOSYS : errno;
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
    /* Signals to this process alone; 0 only asks whether another one is there. */
    ADD(SKIP_UNLESS(SYS_tgkill, 4), LOAD(args[0]), SKIP_UNLESS(self, 1), RETURN(SECCOMP_RET_ALLOW), REFUSE(EPERM));
    ADD(SKIP_UNLESS(SYS_kill, 7), LOAD(args[1]), SKIP_UNLESS(0, 1), RETURN(SECCOMP_RET_ALLOW), LOAD(args[0]),
        SKIP_UNLESS(self, 1), RETURN(SECCOMP_RET_ALLOW), REFUSE(EPERM));
    if (!may_listen) ADD(SKIP_UNLESS(SYS_listen, 1), REFUSE(EPERM));
    ADD(SKIP_UNLESS(SYS_socket, (unsigned char)(family_count * 2 + 2)), LOAD(args[0]));
    for (index = 0; index < family_count; index++)
        ADD(SKIP_UNLESS((unsigned)families[index], 1), RETURN(SECCOMP_RET_ALLOW));
    ADD(REFUSE(EPERM));
    ADD(RETURN(SECCOMP_RET_ALLOW));
    const struct sock_fprog filter = {.len = (unsigned short)length, .filter = program};
    long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter);
    /* The number of a thread that could not follow. */
    return result == 0 ? 0 : result > 0 ? EAGAIN : errno;
#else
    (void)families, (void)family_count, (void)may_listen;
    return ENOSYS;
#endif
}

int posix_no_new_privileges(void) { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); }

int posix_landlock_version(void) {
    return (int)syscall(SYS_landlock_create_ruleset, NULL, 0, 1 /* LANDLOCK_CREATE_RULESET_VERSION */);
}

int posix_open_path(const char *path) { return open(path, O_PATH | O_CLOEXEC); }

int posix_landlock_create(uint64_t files, uint64_t network, uint64_t scopes) {
    /* An older kernel has fewer fields, and takes more as long as they are 0. */
    const uint64_t handled[3] = {files, network, scopes};
    return (int)syscall(SYS_landlock_create_ruleset, handled, sizeof handled, 0);
}

int posix_landlock_allow(int rules, int path, uint64_t access) {
    const struct __attribute__((packed)) {
        uint64_t access;
        int32_t path;
    } beneath = {access, path};
    return (int)syscall(SYS_landlock_add_rule, rules, 1 /* LANDLOCK_RULE_PATH_BENEATH */, &beneath, 0);
}

int posix_landlock_enter(int rules) { return (int)syscall(SYS_landlock_restrict_self, rules, 0); }
