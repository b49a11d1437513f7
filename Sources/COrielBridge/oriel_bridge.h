/* The layout of an Oriel bridge, version 2.1 of the frames and 1.0 of the sound, for programs that read or write them in C or C++.
 *
 * What the fields mean, in which order to load and store them, and how to find and follow a broadcast is told in the article
 * "The format of a bridge" of the library FrameBridge. All integers are little-endian, all times nanoseconds of
 * CLOCK_MONOTONIC. Load the words that a writer changes while others read (latest, heartbeat_ns, state, horizon_ns, wake, sequence)
 * with atomic loads, __atomic_load_n(&header->latest, __ATOMIC_ACQUIRE) for example. The structures are for little-endian
 * machines, and hold the named fields only: the header takes a page. */
#ifndef ORIEL_BRIDGE_H
#define ORIEL_BRIDGE_H

#include <stddef.h>
#include <stdint.h>

#define ORIEL_BRIDGE_MAGIC UINT64_C(0x3156464C4549524F) /* "ORIELFV1" */
#define ORIEL_SOUND_MAGIC UINT64_C(0x3156534C4549524F)  /* "ORIELSV1" */
#define ORIEL_BRIDGE_BYTE_ORDER UINT32_C(0x01020304)
#define ORIEL_BRIDGE_NV12 UINT32_C(0x3231564E) /* "NV12" */

enum {
    ORIEL_BRIDGE_MAJOR = 2,
    ORIEL_BRIDGE_MINOR = 1,
    ORIEL_BRIDGE_PAGE = 4096,
    ORIEL_BRIDGE_SLOTS = 3,
    ORIEL_BRIDGE_TILE = 64,
    ORIEL_BRIDGE_MAX_SIDE = 16384,
    ORIEL_BRIDGE_BT601 = 6,
    ORIEL_BRIDGE_LIMITED = 0
};

enum {
    ORIEL_SOUND_MAJOR = 1,
    ORIEL_SOUND_MINOR = 0,
    ORIEL_SOUND_SLOTS = 128,
    ORIEL_SOUND_SLOT_BYTES = 2048,
    ORIEL_SOUND_RATE = 48000,
    ORIEL_SOUND_SAMPLES = 480, /* of a block, in each channel */
    ORIEL_SOUND_CHANNELS = 2,  /* at the most */
    ORIEL_SOUND_FOLLOWS = 1    /* a flag: the block continues the one before */
};

enum oriel_bridge_state {
    ORIEL_BRIDGE_STARTING = 1,
    ORIEL_BRIDGE_ACTIVE = 2,
    ORIEL_BRIDGE_PAUSED = 3,
    ORIEL_BRIDGE_STOPPING = 4,
    ORIEL_BRIDGE_STOPPED = 5,
    ORIEL_BRIDGE_RETIRED = 6,
    ORIEL_BRIDGE_ERROR = 7,
    ORIEL_BRIDGE_SOURCE_LOST = 8
};

/* The first page, of frames and of sound. */
struct oriel_bridge_header {
    uint64_t magic;
    uint32_t byte_order;
    uint16_t major, minor;
    uint32_t header_bytes;
    uint32_t slot_count;
    uint64_t generation;
    uint64_t file_bytes;
    uint64_t slot_stride;
    uint64_t slots_offset;
    uint32_t writer_pid;
    uint32_t checksum; /* CRC-32C of bytes 0 to 59 */
    uint64_t latest;   /* of frames: frame number << 8 | slot; of sound: head, the number of the newest block */
    uint64_t heartbeat_ns;
    uint32_t state; /* enum oriel_bridge_state */
    uint32_t reserved_84;
    uint64_t published;
    uint64_t horizon_ns; /* what was captured before is not to be shown any more */
    uint64_t state_since_ns;
    uint64_t began_ns; /* of sound: when the generation began */
    uint64_t reserved_120;
    uint32_t wake;
    uint32_t reserved_132[15];
    char source[128];
    uint32_t frames_per_second;
};

/* The start of each slot of frames. */
struct oriel_bridge_slot {
    uint64_t sequence; /* odd while it is being written */
    uint64_t frame_number;
    uint64_t captured_ns;
    uint64_t published_ns;
    uint32_t width, height;
    uint32_t luma_stride, chroma_stride;
    uint32_t luma_offset, chroma_offset;
    uint32_t pixel_format;
    uint8_t matrix, range, orientation, reserved_63;
    int32_t source_x, source_y, source_width, source_height;
    uint32_t reserved_80[4];
    uint32_t tile_size;
    uint32_t tile_columns, tile_rows;
    uint32_t tiles_offset;
    uint32_t changed_pixels;
    uint32_t content_offset; /* of the map of changes that are not the pointer's; 0: there is none */
    uint32_t checksum; /* CRC-32C of bytes 8 to 119 */
    uint32_t reserved_124;
};

/* Each slot of sound; block n stands in slot n % ORIEL_SOUND_SLOTS. */
struct oriel_sound_slot {
    uint64_t sequence; /* 2n + 1 while block n is written, and once it was taken back; 2n + 2 when it is whole */
    uint64_t number;
    uint64_t captured_ns;
    uint16_t channels;
    uint16_t flags;
    uint32_t checksum; /* CRC-32C of bytes 8 to 27 */
    uint64_t reserved_32[4];
    int16_t samples[ORIEL_SOUND_SAMPLES * ORIEL_SOUND_CHANNELS];
};

/* The start of each of the four pages of the file `control`; its text follows. */
struct oriel_bridge_record {
    uint64_t number; /* 0: never written */
    uint32_t text_bytes;
    uint32_t checksum; /* CRC-32C of bytes 0 to 11 and of the text */
};

enum oriel_bridge_control_page {
    ORIEL_BRIDGE_REQUEST = 0,
    ORIEL_BRIDGE_ANSWER = 1,
    ORIEL_BRIDGE_PAUSE = 2,
    ORIEL_BRIDGE_SOURCE = 3
};

#ifdef __cplusplus
#define ORIEL_BRIDGE_ASSERT(condition) static_assert(condition, #condition)
#else
#define ORIEL_BRIDGE_ASSERT(condition) _Static_assert(condition, #condition)
#endif
ORIEL_BRIDGE_ASSERT(offsetof(struct oriel_bridge_header, latest) == 64);
ORIEL_BRIDGE_ASSERT(offsetof(struct oriel_bridge_header, horizon_ns) == 96);
ORIEL_BRIDGE_ASSERT(offsetof(struct oriel_bridge_header, began_ns) == 112);
ORIEL_BRIDGE_ASSERT(offsetof(struct oriel_bridge_header, wake) == 128);
ORIEL_BRIDGE_ASSERT(offsetof(struct oriel_bridge_header, source) == 192);
ORIEL_BRIDGE_ASSERT(offsetof(struct oriel_bridge_header, frames_per_second) == 320);
ORIEL_BRIDGE_ASSERT(sizeof(struct oriel_bridge_slot) == 128);
ORIEL_BRIDGE_ASSERT(offsetof(struct oriel_sound_slot, samples) == 64);
ORIEL_BRIDGE_ASSERT(sizeof(struct oriel_sound_slot) == 64 + 4 * ORIEL_SOUND_SAMPLES);
#undef ORIEL_BRIDGE_ASSERT

#endif
