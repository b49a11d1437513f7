#define _GNU_SOURCE
#include "CPosix.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/prctl.h>
#include <sys/resource.h>
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
#define ALLOW RETURN(SECCOMP_RET_ALLOW)
#define REFUSE(code) RETURN(SECCOMP_RET_ERRNO | (code))

/* Numbers that the C library's headers may be too old for. They are the same on both architectures. */
enum { number_of_process_madvise = 440, number_of_process_mrelease = 448, number_of_fchmodat2 = 452 };
enum { number_of_setxattrat = 463, number_of_removexattrat = 466, number_of_open_tree_attr, number_of_file_setattr = 469 };

/* Calls that neither kind of process needs. */
static const int refused[] = {
    /* Other processes and namespaces, and ways around the filter. */
    SYS_execveat, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_mount, SYS_umount2,
    SYS_pivot_root, SYS_chroot, SYS_setns, SYS_unshare, SYS_bpf, SYS_init_module, SYS_finit_module, SYS_kexec_load,
    SYS_keyctl, SYS_add_key, SYS_request_key, SYS_perf_event_open, SYS_userfaultfd, SYS_io_uring_setup,
    SYS_open_by_handle_at, SYS_reboot, SYS_open_tree, SYS_move_mount, SYS_fsopen, SYS_fsmount, SYS_fsconfig, SYS_fspick,
    SYS_kexec_file_load, SYS_delete_module, SYS_tkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_pidfd_send_signal,
    SYS_pidfd_getfd, number_of_open_tree_attr,
#ifdef SYS_mount_setattr
    SYS_mount_setattr,
#endif
    /* The scheduling of other processes. */
    SYS_ioprio_set, SYS_sched_setscheduler, SYS_sched_setparam, SYS_sched_setattr,
    SYS_sched_setaffinity, SYS_migrate_pages, SYS_move_pages, number_of_process_madvise, number_of_process_mrelease,
    /* Calls on files of this user by name: Landlock does not check these, nor truncate before Linux 6.2. */
    SYS_truncate, SYS_fchmodat, number_of_fchmodat2, SYS_fchown, SYS_fchownat, SYS_utimensat, SYS_setxattr, SYS_lsetxattr,
    SYS_fsetxattr, SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr, number_of_setxattrat, number_of_removexattrat,
    number_of_file_setattr,
#ifdef SYS_chmod
    SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat,
#endif
    /* Objects that processes share without files. */
    SYS_semget, SYS_semop, SYS_semtimedop, SYS_semctl, SYS_msgget, SYS_msgsnd, SYS_msgrcv, SYS_msgctl, SYS_mq_open,
    SYS_mq_unlink,
};

/* Starting other programs. */
static const int starting[] = {
    SYS_execve,
#ifdef SYS_fork
    SYS_fork, SYS_vfork,
#endif
};

/* Questions about descriptors: whether it is a terminal, how much can be read, and the names of network interfaces. All else
   is refused, such as faked typing (TIOCSTI, TIOCLINUX), or another foreground of the terminal (TIOCSPGRP). */
static const unsigned controls[] = {
    TCGETS, 0x802C542A /* TCGETS2 */, TIOCGWINSZ, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX, SIOCGIFCONF, SIOCGIFNAME,
    SIOCGIFINDEX, SIOCGIFFLAGS, SIOCGIFADDR, SIOCGIFNETMASK,
    /* For a process that reads a terminal: its foreground, and dropping typed input. They come last, as others do not need them. */
    TIOCGPGRP, TCFLSH,
};
enum { CONTROLS_OF_TERMINALS = 2 };

/* Signals to other processes when a descriptor is readable, and leases, which delay others that open the file. */
static const unsigned refused_file_commands[] = {F_SETOWN, F_SETOWN_EX, F_SETSIG, F_SETLEASE};

struct program {
    struct sock_filter steps[512];
    size_t length;
};

#define ADD(program, ...)                                                                         \
    do {                                                                                          \
        const struct sock_filter steps[] = {__VA_ARGS__};                                         \
        for (size_t step = 0; step < sizeof steps / sizeof *steps; step++)                        \
            (program)->steps[(program)->length++] = steps[step];                                  \
    } while (0)

/* Allows a call only with some values of an argument, or only with all others. Only the lower half of the argument counts: if the
   kernel reads an int, the upper half may hold anything. */
static void judge(
    struct program *program, int number, int argument, const unsigned *values, size_t count, bool are_allowed) {
    ADD(program, SKIP_UNLESS(number, (unsigned char)(2 * count + 2)), LOAD(args[argument]));
    for (size_t index = 0; index < count; index++) {
        ADD(program, SKIP_UNLESS(values[index], 1));
        if (are_allowed) ADD(program, ALLOW); else ADD(program, REFUSE(EPERM));
    }
    if (are_allowed) ADD(program, REFUSE(EPERM)); else ADD(program, ALLOW);
}

#define COUNT(array) (sizeof (array) / sizeof *(array))
#define ALLOW_ONLY(program, number, argument, ...)                                                \
    judge(program, number, argument, (const unsigned[]){__VA_ARGS__}, COUNT(((const unsigned[]){__VA_ARGS__})), true)

#define NAMESPACES                                                                                \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

int posix_filter_calls(const struct posix_calls *calls) {
#ifdef NATIVE
    struct program program = {.length = 0};
    const unsigned self = (unsigned)getpid();
    if (calls->family_count > 8) return EINVAL;
    /* Without a filter, EFAULT means that the kernel knows the flag. Any later failure is the filter's fault. */
    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, NULL);
    if (errno != EFAULT) return errno == EINVAL ? ENOSYS : errno;
    ADD(&program, LOAD(arch), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE, 1, 0), REFUSE(ENOSYS), LOAD(nr));
#ifdef __x86_64__
    /* The 32-bit pointer variant of the same architecture. */
    ADD(&program, BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1), REFUSE(ENOSYS));
#endif
    for (size_t index = 0; index < COUNT(refused); index++)
        ADD(&program, SKIP_UNLESS(refused[index], 1), REFUSE(EPERM));
    for (size_t index = 0; index < COUNT(starting) && !calls->may_start_programs; index++)
        ADD(&program, SKIP_UNLESS(starting[index], 1), REFUSE(EPERM));
    /* The flags of clone3 lie in memory, which a filter cannot read. Without clone3, the C library uses clone. */
    ADD(&program, SKIP_UNLESS(SYS_clone3, 1), REFUSE(ENOSYS));
    if (calls->may_start_programs) {
        ADD(&program, SKIP_UNLESS(SYS_clone, 4), LOAD(args[0]),
            BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NAMESPACES, 0, 1), REFUSE(EPERM), ALLOW);
        ALLOW_ONLY(&program, SYS_kill, 1, SIGINT);
    } else {
        ADD(&program, SKIP_UNLESS(SYS_clone, 4), LOAD(args[0]),
            BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0), REFUSE(EPERM), ALLOW);
        ALLOW_ONLY(&program, SYS_kill, 0, self);
    }
    ALLOW_ONLY(&program, SYS_tgkill, 0, self);
    ALLOW_ONLY(&program, SYS_prlimit64, 0, 0, self);
    /* Dispatch sets the priority of its own threads. */
    ADD(&program, SKIP_UNLESS(SYS_setpriority, 6), LOAD(args[0]), SKIP_UNLESS(PRIO_PROCESS, 3), LOAD(args[1]),
        SKIP_UNLESS(0, 1), ALLOW, REFUSE(EPERM));
    ALLOW_ONLY(&program, SYS_fchmod, 1, 0600);
    ALLOW_ONLY(&program, SYS_socketpair, 0, AF_UNIX);
    judge(&program, SYS_socket, 0, (const unsigned *)calls->families, calls->family_count, true);
    judge(&program, SYS_ioctl, 1, controls, COUNT(controls) - (calls->may_start_programs ? 0 : CONTROLS_OF_TERMINALS), true);
    judge(&program, SYS_fcntl, 1, refused_file_commands, COUNT(refused_file_commands), false);
    if (calls->may_share_segments) {
        ALLOW_ONLY(&program, SYS_shmget, 0, IPC_PRIVATE);
        ALLOW_ONLY(&program, SYS_shmctl, 1, IPC_RMID);
    } else {
        ADD(&program, SKIP_UNLESS(SYS_shmget, 1), REFUSE(EPERM), SKIP_UNLESS(SYS_shmat, 1), REFUSE(EPERM),
            SKIP_UNLESS(SYS_shmctl, 1), REFUSE(EPERM), SKIP_UNLESS(SYS_shmdt, 1), REFUSE(EPERM));
    }
    if (!calls->may_listen) ADD(&program, SKIP_UNLESS(SYS_listen, 1), REFUSE(EPERM));
    ADD(&program, ALLOW);
    const struct sock_fprog filter = {.len = (unsigned short)program.length, .filter = program.steps};
    long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter);
    /* The number of a thread that could not follow. */
    return result == 0 ? 0 : result > 0 ? EAGAIN : errno;
#else
    (void)calls;
    return ENOSYS;
#endif
}

int posix_no_new_privileges(void) { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); }

int posix_landlock_version(void) {
    return (int)syscall(SYS_landlock_create_ruleset, NULL, 0, 1 /* LANDLOCK_CREATE_RULESET_VERSION */);
}

int posix_open_path(const char *path) { return open(path, O_PATH | O_CLOEXEC); }

int posix_landlock_create(uint64_t files, uint64_t network, uint64_t scopes) {
    /* An older kernel has fewer fields. It accepts further ones if they are 0. */
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
