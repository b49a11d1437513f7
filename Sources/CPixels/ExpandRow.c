#include "CPixels.h"

static inline uint8_t channel(uint32_t pixel, pixels_channel channel) {
    uint32_t value = (pixel & channel.mask) << channel.left_shift;
    value |= value >> channel.repeat;
    value |= value >> 2 * channel.repeat;
    value |= value >> 4 * channel.repeat;
    return (uint8_t)(value >> 24);
}

static inline uint32_t read_pixel(const uint8_t *packed, int bytes, bool big_endian) {
    uint32_t pixel = 0;
    for (int i = 0; i < bytes; i++) {
        pixel |= (uint32_t)packed[i] << 8 * (big_endian ? bytes - 1 - i : i);
    }
    return pixel;
}

static inline __attribute__((always_inline)) void expand(
    const uint8_t *restrict packed, uint8_t *restrict bgrx, ptrdiff_t width, pixels_packed_format format, int bytes) {
    for (ptrdiff_t x = 0; x < width; x++) {
        uint32_t pixel = read_pixel(packed + bytes * x, bytes, format.big_endian);
        bgrx[4 * x] = channel(pixel, format.blue);
        bgrx[4 * x + 1] = channel(pixel, format.green);
        bgrx[4 * x + 2] = channel(pixel, format.red);
        bgrx[4 * x + 3] = 0;
    }
}

void pixels_expand_to_bgrx(const uint8_t *packed, uint8_t *bgrx, ptrdiff_t width, const pixels_packed_format *format) {
    // A constant size lets the compiler unroll the reading.
    switch (format->bytes_per_pixel) {
    case 2: expand(packed, bgrx, width, *format, 2); break;
    case 3: expand(packed, bgrx, width, *format, 3); break;
    case 4: expand(packed, bgrx, width, *format, 4); break;
    }
}
