/* oriel-record: records the sound of a live Oriel broadcast as a WAV file.
 *
 * Compile it with:  cc -O2 -I Sources/COrielBridge -o oriel-record tools/readers/oriel-record.c
 *
 * It needs Linux and the C library, nothing else, and was written from the document "The format of a bridge" and from
 * oriel_bridge.h alone: an example for those who want to read sound themselves. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "oriel_bridge.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x10
#endif
#define MILLISECOND INT64_C(1000000)
#define SECOND (1000 * MILLISECOND)

enum { FAILED = 1, WRONG_USAGE = 64, NO_SOUND = 75, NAME_BYTES = 6 + 16 };

/* The sound of one generation. */
struct sound {
    char name[NAME_BYTES + 1]; /* empty: there is none */
    int file;
    const struct oriel_bridge_header *header; /* the mapping */
    uint64_t bytes, first_slot, began_ns;
    uint64_t next; /* number of the block that is wanted; 0 for the newest */
};

struct reader {
    const char *path;
    int folder;
    bool has_looked;
    struct sound sound, successor;
    uint64_t horizon_ns; /* the latest one */
    struct oriel_sound_slot copy;
    unsigned long blocks, lost, generations;
};

__attribute__((noreturn, format(printf, 2, 3))) static void fail(int code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("oriel-record: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    exit(code);
}

static void require(const struct reader *reader, const struct sound *sound, bool is_right, const char *what) {
    if (!is_right) fail(FAILED, "%s/%s is damaged (%s): restart the sound.", reader->path, sound->name, what);
}

static void end_at_bus_error(int number) {
    static const char text[] = "oriel-record: cannot read the sound, its file shrank: restart the sound.\n";
    ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
    (void)ignored, (void)number;
    _exit(FAILED);
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * SECOND + now.tv_nsec;
}

static void sleep_ms(long milliseconds) {
    nanosleep(&(struct timespec){ .tv_nsec = milliseconds * MILLISECOND }, NULL);
}

static uint32_t crc32c(const void *data, size_t count) {
    uint32_t value = 0xFFFFFFFF;
    for (const uint8_t *byte = data; count-- > 0; byte++) {
        value ^= *byte;
        for (int bit = 0; bit < 8; bit++) value = (value >> 1) ^ (value & 1 ? 0x82F63B78 : 0);
    }
    return ~value;
}

/* The folder */

static void refuse_unless_private(const struct reader *reader, const struct stat *info, const char *name) {
    if (info->st_uid != geteuid() || (info->st_mode & 077) != 0) {
        fail(FAILED, "refusing %s/%s, which is somebody else's or open to others: make it yours, for you alone.",
             reader->path, name);
    }
}

/* -1: the memory is not to be had at the moment. */
static int receive_memory(const struct reader *reader, const struct sound *sound) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) != 0) {
        fail(FAILED, "cannot make a socket for %s/%s (%s): try again.", reader->path, sound->name, strerror(errno));
    }
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", reader->folder, sound->name);
    char byte = 0;
    struct iovec data = { .iov_base = &byte, .iov_len = 1 };
    union { struct cmsghdr header; char bytes[CMSG_SPACE(sizeof(int))]; } control = {
        .header = { .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
    /* CMSG_LEN, not CMSG_SPACE: a second descriptor would fit into the padding of the answer. */
    struct msghdr message = { .msg_name = &address, .msg_namelen = sizeof address, .msg_iov = &data, .msg_iovlen = 1,
                              .msg_control = &control, .msg_controllen = CMSG_LEN(sizeof(int)) };
    memcpy(CMSG_DATA(&control.header), &pair[1], sizeof(int));
    bool is_sent = sendmsg(pair[0], &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
    close(pair[1]);
    int memory = -1;
    struct pollfd answer = { .fd = pair[0], .events = POLLIN };
    message.msg_name = NULL;
    message.msg_namelen = 0;
    if (is_sent && poll(&answer, 1, 250) == 1 && recvmsg(pair[0], &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) >= 0
        && CMSG_FIRSTHDR(&message) && control.header.cmsg_len == CMSG_LEN(sizeof(int))
        && control.header.cmsg_level == SOL_SOCKET && control.header.cmsg_type == SCM_RIGHTS) {
        memcpy(&memory, CMSG_DATA(&control.header), sizeof(int));
        int needed = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE;
        int seals = fcntl(memory, F_GET_SEALS);
        require(reader, sound, seals >= 0 && (seals & needed) == needed, "its memory is not sealed");
    }
    close(pair[0]);
    return memory;
}

/* The file of a name; -1: it has just gone, or its writer does not answer. */
static int open_file(const struct reader *reader, const struct sound *sound) {
    struct stat info;
    if (fstatat(reader->folder, sound->name, &info, AT_SYMLINK_NOFOLLOW) != 0) return -1;
    if (S_ISSOCK(info.st_mode)) {
        refuse_unless_private(reader, &info, sound->name);
        return receive_memory(reader, sound);
    }
    int file = openat(reader->folder, sound->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0 && errno == ENOENT) return -1;
    if (file < 0 || fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) {
        fail(FAILED, "%s/%s is not a regular file: remove it.", reader->path, sound->name);
    }
    refuse_unless_private(reader, &info, sound->name);
    return file;
}

/* Sound */

static uint64_t load64(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }

static bool is_retired(const struct reader *reader, const struct sound *sound) {
    uint32_t state = __atomic_load_n(&sound->header->state, __ATOMIC_ACQUIRE);
    require(reader, sound, state >= ORIEL_BRIDGE_STARTING && state <= ORIEL_BRIDGE_SOURCE_LOST, "its state is unknown");
    return state == ORIEL_BRIDGE_RETIRED;
}

static bool is_current(const struct reader *reader, const struct sound *sound) {
    struct stat info;
    return !is_retired(reader, sound) && fstatat(reader->folder, sound->name, &info, AT_SYMLINK_NOFOLLOW) == 0;
}

static void close_sound(struct sound *sound) {
    if (!sound->name[0]) return;
    munmap((void *)sound->header, sound->bytes);
    close(sound->file);
    sound->name[0] = '\0';
}

/* False: there is no such generation any more. */
static bool open_sound(const struct reader *reader, struct sound *sound, const char *name) {
    memcpy(sound->name, name, NAME_BYTES + 1);
    sound->file = open_file(reader, sound);
    if (sound->file < 0) return false;
    struct oriel_bridge_header header;
    struct stat info;
    ssize_t count = pread(sound->file, &header, sizeof header, 0);
    require(reader, sound, fstat(sound->file, &info) == 0 && count == sizeof header && info.st_size >= ORIEL_BRIDGE_PAGE,
            "its header is cut off");
    require(reader, sound, header.magic == ORIEL_SOUND_MAGIC, "it does not begin with ORIELSV1");
    require(reader, sound, header.byte_order == ORIEL_BRIDGE_BYTE_ORDER, "its byte order is another one");
    require(reader, sound, header.checksum == crc32c(&header, 60), "the checksum of its header is wrong");
    if (header.major > ORIEL_SOUND_MAJOR) {
        fail(FAILED, "%s/%s has version %d.%d of the format, which is newer: use the same version on both sides.",
             reader->path, sound->name, header.major, header.minor);
    }
    require(reader, sound, header.major == ORIEL_SOUND_MAJOR, "its version is unknown");
    require(reader, sound, header.slot_count == ORIEL_SOUND_SLOTS && header.slot_stride == ORIEL_SOUND_SLOT_BYTES,
            "its slots have a wrong size");
    require(reader, sound, header.generation == strtoull(name + 6, NULL, 16), "its generation is not that of its name");
    require(reader, sound, header.file_bytes <= (uint64_t)info.st_size, "it is shorter than it says");
    uint64_t slots = ORIEL_SOUND_SLOTS * ORIEL_SOUND_SLOT_BYTES;
    require(reader, sound, header.slots_offset >= ORIEL_BRIDGE_PAGE && header.slots_offset % ORIEL_SOUND_SLOT_BYTES == 0
            && header.file_bytes >= slots && header.slots_offset <= header.file_bytes - slots, "its slots are misplaced");
    void *mapping = mmap(NULL, header.file_bytes, PROT_READ, MAP_SHARED, sound->file, 0);
    if (mapping == MAP_FAILED) {
        fail(FAILED, "cannot map %s/%s (%s): end other programs.", reader->path, sound->name, strerror(errno));
    }
    sound->header = mapping;
    sound->bytes = header.file_bytes;
    sound->first_slot = header.slots_offset;
    sound->began_ns = header.began_ns;
    sound->next = 0;
    return true;
}

static bool is_name(const char *name) {
    if (strncmp(name, "sound.", 6) != 0 || strlen(name) != NAME_BYTES) return false;
    return strspn(name + 6, "0123456789abcdef") == 16;
}

/* Opens the generation that began last, of those that are not open and not retired. */
static bool open_newest(const struct reader *reader, struct sound *newest) {
    newest->name[0] = '\0';
    int copy = openat(reader->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = copy < 0 ? NULL : fdopendir(copy);
    if (!listing) fail(FAILED, "cannot list %s (%s): check what it is.", reader->path, strerror(errno));
    for (struct dirent *entry; (entry = readdir(listing));) {
        if (!is_name(entry->d_name) || strcmp(entry->d_name, reader->sound.name) == 0
            || strcmp(entry->d_name, reader->successor.name) == 0) continue;
        struct sound found;
        if (!open_sound(reader, &found, entry->d_name)) continue;
        bool is_newer = !is_retired(reader, &found) && (!newest->name[0] || newest->began_ns < found.began_ns);
        if (is_newer) {
            close_sound(newest);
            *newest = found;
        } else {
            close_sound(&found);
        }
    }
    closedir(listing);
    return newest->name[0] != '\0';
}

/* A horizon after the heartbeat is damage. */
static void ask_for_horizon(struct reader *reader, const struct sound *sound) {
    uint64_t horizon = load64(&sound->header->horizon_ns);
    if (horizon > reader->horizon_ns && horizon <= load64(&sound->header->heartbeat_ns)) reader->horizon_ns = horizon;
}

static void follow(struct reader *reader) {
    if (reader->folder < 0) {
        struct stat info;
        reader->folder = open(reader->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (reader->folder < 0 && errno == ENOENT) return;
        if (reader->folder < 0 || fstat(reader->folder, &info) != 0) {
            fail(FAILED, "cannot open the folder %s (%s): name that of a broadcast.", reader->path, strerror(errno));
        }
        refuse_unless_private(reader, &info, ".");
    }
    struct sound *present = reader->successor.name[0] ? &reader->successor : &reader->sound, found;
    if (present->name[0] && is_current(reader, present)) return;
    bool is_found = open_newest(reader, &found);
    /* The first of all is read from its newest block on. */
    if (is_found && reader->has_looked) found.next = 1;
    reader->has_looked = true;
    if (!is_found) return;
    reader->generations++;
    if (present->name[0]) ask_for_horizon(reader, present);
    if (!reader->sound.name[0]) {
        reader->sound = found;
    } else {
        close_sound(&reader->successor);
        reader->successor = found;
    }
}

enum progress { NOTHING, GONE, BLOCK };

/* Copies the next block. */
static enum progress read_block(struct reader *reader, struct sound *sound) {
    uint64_t head = load64(&sound->header->latest);
    require(reader, sound, head <= UINT64_C(1) << 48 && head + 1 >= sound->next, "its newest block makes no sense");
    uint64_t number = sound->next ? sound->next : head;
    if (head == 0 || head < number) {
        sound->next = number ? number : 1;
        return NOTHING;
    }
    if (head - number >= ORIEL_SOUND_SLOTS) {
        sound->next = head + 2 - ORIEL_SOUND_SLOTS;
        reader->lost += sound->next - number;
        return GONE;
    }
    const struct oriel_sound_slot *slot = (const void *)((const char *)sound->header + sound->first_slot
                                                         + number % ORIEL_SOUND_SLOTS * ORIEL_SOUND_SLOT_BYTES);
    reader->copy = *slot;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    uint64_t sequence = __atomic_load_n(&slot->sequence, __ATOMIC_RELAXED);
    sound->next = number + 1;
    if (sequence == 2 * number + 1) return GONE; /* taken back */
    if (sequence != 2 * number + 2) {
        uint64_t other = (sequence - 1) / 2;
        require(reader, sound, sequence > 2 * number && other % ORIEL_SOUND_SLOTS == number % ORIEL_SOUND_SLOTS,
                "a sequence number makes no sense");
        reader->lost++;
        return GONE;
    }
    struct stat info;
    require(reader, sound, fstat(sound->file, &info) == 0 && (uint64_t)info.st_size >= sound->bytes, "it was cut");
    require(reader, sound, reader->copy.checksum == crc32c(&reader->copy.number, 20), "the checksum of a block is wrong");
    require(reader, sound, reader->copy.number == number, "a block has another number");
    require(reader, sound, reader->copy.channels >= 1 && reader->copy.channels <= ORIEL_SOUND_CHANNELS,
            "a block has a wrong number of channels");
    return BLOCK;
}

/* Whether there is a further block that may be heard. */
static bool next_block(struct reader *reader) {
    follow(reader);
    while (reader->sound.name[0]) {
        bool is_over = is_retired(reader, &reader->sound) || reader->successor.name[0];
        switch (read_block(reader, &reader->sound)) {
        case BLOCK:
            ask_for_horizon(reader, reader->successor.name[0] ? &reader->successor : &reader->sound);
            if (reader->copy.captured_ns < reader->horizon_ns) break;
            reader->blocks++;
            return true;
        case NOTHING:
            if (!is_over) return false;
            close_sound(&reader->sound);
            reader->sound = reader->successor;
            reader->successor.name[0] = '\0';
            break;
        case GONE: break;
        }
    }
    return false;
}

static void wait_for_block(const struct reader *reader) {
    if (!reader->sound.name[0]) return sleep_ms(50);
    const struct oriel_bridge_header *header = reader->sound.header;
    uint32_t wake = __atomic_load_n(&header->wake, __ATOMIC_ACQUIRE);
    if (load64(&header->latest) >= reader->sound.next || is_retired(reader, &reader->sound)) return;
    struct timespec most = { .tv_nsec = 100 * MILLISECOND };
    syscall(SYS_futex, &header->wake, FUTEX_WAIT, wake, &most, NULL, 0);
}

/* WAV */

static void put(FILE *file, const char *path, const void *bytes, size_t count) {
    if (fwrite(bytes, 1, count, file) != count) fail(FAILED, "cannot write %s (%s): make room.", path, strerror(errno));
}

static void write_header(FILE *file, const char *path, unsigned long blocks) {
    uint32_t bytes = (uint32_t)(blocks * ORIEL_SOUND_SAMPLES * 4), riff = 36 + bytes, size = 16;
    uint16_t words[] = { 1, 2 }, format[] = { 4, 16 };
    uint32_t rates[] = { ORIEL_SOUND_RATE, ORIEL_SOUND_RATE * 4 };
    put(file, path, "RIFF", 4);
    put(file, path, &riff, 4);
    put(file, path, "WAVEfmt ", 8);
    put(file, path, &size, 4);
    put(file, path, words, sizeof words);
    put(file, path, rates, sizeof rates);
    put(file, path, format, sizeof format);
    put(file, path, "data", 4);
    put(file, path, &bytes, 4);
}

static void write_block(FILE *file, const char *path, const struct oriel_sound_slot *block) {
    int16_t samples[2 * ORIEL_SOUND_SAMPLES];
    for (int i = 0; i < 2 * ORIEL_SOUND_SAMPLES; i++) samples[i] = block->samples[block->channels == 2 ? i : i / 2];
    put(file, path, samples, sizeof samples);
}

__attribute__((noreturn)) static void fail_usage(const char *what) {
    fail(WRONG_USAGE, "%s; usage: oriel-record [--name NAME | --dir PATH] [--seconds SECONDS] FILE.wav", what);
}

static char *folder_of(const char *name) {
    size_t count = strlen(name);
    bool is_right = count >= 1 && count <= 64 && name[0] != '.';
    for (size_t i = 0; i < count; i++) is_right = is_right && (isalnum((unsigned char)name[i]) || strchr("._-", name[i]));
    if (!is_right) fail_usage("a name has 1 to 64 letters, digits, dots, underscores and hyphens, and no leading dot");
    const char *runtime = getenv("XDG_RUNTIME_DIR"), *temporary = getenv("TMPDIR");
    char *path;
    int result = runtime && runtime[0] ? asprintf(&path, "%s/oriel/%s", runtime, name)
        : asprintf(&path, "%s/oriel-%u/%s", temporary && temporary[0] ? temporary : "/tmp", geteuid(), name);
    if (result < 0) fail(FAILED, "cannot get memory: end other programs.");
    return path;
}

int main(int count, char **words) {
    static const struct option options[] = { { "name", required_argument, NULL, 'n' }, { "dir", required_argument, NULL, 'd' },
                                             { "seconds", required_argument, NULL, 's' }, { 0 } };
    const char *name = "default", *path = NULL;
    double seconds = 5;
    opterr = 0;
    for (int option; (option = getopt_long(count, words, "", options, NULL)) != -1;) {
        char *end = "";
        if (option == 'n') name = optarg;
        else if (option == 'd') path = optarg;
        else if (option == 's') seconds = strtod(optarg, &end);
        else fail_usage("there is no such option");
        if (*end != '\0' || !(seconds >= 0 && seconds < 1e6)) fail_usage("seconds must be a number from 0 on");
    }
    if (optind != count - 1) fail_usage("name one file");
    const char *target = words[optind];
    struct reader reader = { .path = path ? path : folder_of(name), .folder = -1 };
    signal(SIGBUS, end_at_bus_error);
    FILE *file = NULL;
    int64_t end = now_ns() + (int64_t)(seconds * SECOND);
    while (true) {
        if (next_block(&reader)) {
            if (!file && !(file = fopen(target, "wb"))) {
                fail(FAILED, "cannot write %s (%s): name another file.", target, strerror(errno));
            }
            if (reader.blocks == 1) write_header(file, target, 0);
            write_block(file, target, &reader.copy);
        } else {
            if (now_ns() >= end) break;
            wait_for_block(&reader);
        }
    }
    if (!file) fail(NO_SOUND, "no sound in %s: start it, or record longer (--seconds).", reader.path);
    rewind(file);
    write_header(file, target, reader.blocks);
    if (fclose(file) != 0) fail(FAILED, "cannot write %s (%s): make room.", target, strerror(errno));
    printf("blocks=%lu lost=%lu generations=%lu\n", reader.blocks, reader.lost, reader.generations);
    return 0;
}
