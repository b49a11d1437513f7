#include "CPixels.h"

void pixels_blend_rows(
    const uint8_t *rows, ptrdiff_t stride, const uint16_t *weights, ptrdiff_t taps, uint16_t *restrict out,
    ptrdiff_t count) {
    for (ptrdiff_t x = 0; x < count; x++) {
        out[x] = (uint16_t)(weights[0] * rows[x]);
    }
    for (ptrdiff_t tap = 1; tap < taps; tap++) {
        const uint8_t *row = rows + tap * stride;
        uint16_t weight = weights[tap];
        for (ptrdiff_t x = 0; x < count; x++) {
            out[x] = (uint16_t)(out[x] + weight * row[x]);
        }
    }
}

static inline __attribute__((always_inline)) void resample(
    const uint16_t *restrict row, const uint32_t *restrict first, const uint16_t *restrict weights, ptrdiff_t taps,
    uint8_t *restrict out, ptrdiff_t count, ptrdiff_t step) {
    for (ptrdiff_t x = 0; x < count; x++) {
        const uint16_t *in = row + step * first[x];
        for (ptrdiff_t plane = 0; plane < step; plane++) {
            uint32_t sum = 1 << 15;
            for (ptrdiff_t tap = 0; tap < taps; tap++) {
                sum += (uint32_t)weights[taps * x + tap] * in[step * tap + plane];
            }
            out[step * x + plane] = (uint8_t)(sum >> 16);
        }
    }
}

static inline __attribute__((always_inline)) void resample_unrolled(
    const uint16_t *row, const uint32_t *first, const uint16_t *weights, ptrdiff_t taps, uint8_t *out,
    ptrdiff_t count, ptrdiff_t step) {
    switch (taps) {
    case 2: resample(row, first, weights, 2, out, count, step); break;
    case 3: resample(row, first, weights, 3, out, count, step); break;
    default: resample(row, first, weights, taps, out, count, step); break;
    }
}

void pixels_resample_luma(
    const uint16_t *row, const uint32_t *first, const uint16_t *weights, ptrdiff_t taps, uint8_t *out,
    ptrdiff_t count) {
    resample_unrolled(row, first, weights, taps, out, count, 1);
}

void pixels_resample_chroma(
    const uint16_t *row, const uint32_t *first, const uint16_t *weights, ptrdiff_t taps, uint8_t *out,
    ptrdiff_t count) {
    resample_unrolled(row, first, weights, taps, out, count, 2);
}
