#include "CPixels.h"

#include <string.h>

uint64_t pixels_hash_row(const uint8_t *bytes, ptrdiff_t count) {
    // Four lanes, since a multiplication takes as long as reading 32 bytes.
    const uint64_t odd = 0x9e3779b97f4a7c15;
    uint64_t lanes[4] = {1, 2, 3, 4};
    ptrdiff_t x = 0;
    for (; x + 32 <= count; x += 32) {
        for (int lane = 0; lane < 4; lane++) {
            uint64_t word;
            memcpy(&word, bytes + x + 8 * lane, 8);
            lanes[lane] = (lanes[lane] ^ word) * odd;
            lanes[lane] ^= lanes[lane] >> 29;
        }
    }
    for (; x < count; x++) lanes[x % 4] = (lanes[x % 4] ^ bytes[x]) * odd;
    uint64_t hash = 0;
    for (int lane = 0; lane < 4; lane++) {
        hash = (hash ^ lanes[lane]) * odd;
        hash ^= hash >> 32;
    }
    return hash;
}
