#include "CPixels.h"
#include "Coefficients.h"

static void bgrx_to_luma(const uint8_t *restrict bgrx, uint8_t *restrict luma, ptrdiff_t width) {
    for (ptrdiff_t x = 0; x < width; x++) {
        const uint8_t *pixel = bgrx + 4 * x;
        luma[x] = (uint16_t)(LUMA_B * pixel[0] + LUMA_G * pixel[1] + LUMA_R * pixel[2] + LUMA_BIAS) >> 8;
    }
}

/// `b`, `g` and `r` are sums over the four pixels of a chroma sample.
static inline void write_chroma(uint8_t *chroma, int32_t b, int32_t g, int32_t r) {
    chroma[0] = (uint8_t)((CB_B * b + CB_G * g + CB_R * r + CHROMA_BIAS) >> CHROMA_SHIFT);
    chroma[1] = (uint8_t)((CR_B * b + CR_G * g + CR_R * r + CHROMA_BIAS) >> CHROMA_SHIFT);
}

static void bgrx_to_chroma(
    const uint8_t *restrict bgrx0, const uint8_t *restrict bgrx1, uint8_t *restrict chroma, ptrdiff_t pairs) {
    for (ptrdiff_t x = 0; x < pairs; x++) {
        const uint8_t *p = bgrx0 + 8 * x, *q = bgrx1 + 8 * x;
        write_chroma(chroma + 2 * x, p[0] + p[4] + q[0] + q[4], p[1] + p[5] + q[1] + q[5], p[2] + p[6] + q[2] + q[6]);
    }
}

static void bgrx_to_nv12(
    const uint8_t *bgrx0, const uint8_t *bgrx1, uint8_t *luma0, uint8_t *luma1, uint8_t *chroma, ptrdiff_t width) {
    bgrx_to_luma(bgrx0, luma0, width);
    bgrx_to_luma(bgrx1, luma1, width);
    bgrx_to_chroma(bgrx0, bgrx1, chroma, width / 2);
    if (width % 2 != 0) {
        luma0[width] = luma0[width - 1];
        luma1[width] = luma1[width - 1];
        const uint8_t *p = bgrx0 + 4 * (width - 1), *q = bgrx1 + 4 * (width - 1);
        write_chroma(chroma + width - 1, 2 * (p[0] + q[0]), 2 * (p[1] + q[1]), 2 * (p[2] + q[2]));
    }
}

/// `step` is the distance of neighbouring samples of one plane in bytes.
static inline __attribute__((always_inline)) void reduce_3_to_2(
    const uint8_t *restrict row0, const uint8_t *restrict row1, const uint8_t *restrict row2,
    uint8_t *restrict out0, uint8_t *restrict out1, ptrdiff_t blocks, ptrdiff_t step) {
    for (ptrdiff_t block = 0; block < blocks; block++) {
        for (ptrdiff_t plane = 0; plane < step; plane++) {
            ptrdiff_t left = 3 * step * block + plane, middle = left + step, right = middle + step;
            ptrdiff_t out = 2 * step * block + plane;
            unsigned left0 = 2 * row0[left] + row0[middle], right0 = row0[middle] + 2 * row0[right];
            unsigned left1 = 2 * row1[left] + row1[middle], right1 = row1[middle] + 2 * row1[right];
            unsigned left2 = 2 * row2[left] + row2[middle], right2 = row2[middle] + 2 * row2[right];
            out0[out] = (uint8_t)((2 * left0 + left1 + 4) / 9);
            out0[out + step] = (uint8_t)((2 * right0 + right1 + 4) / 9);
            out1[out] = (uint8_t)((left1 + 2 * left2 + 4) / 9);
            out1[out + step] = (uint8_t)((right1 + 2 * right2 + 4) / 9);
        }
    }
}

static void reduce_luma_3_to_2(
    const uint8_t *row0, const uint8_t *row1, const uint8_t *row2, uint8_t *out0, uint8_t *out1, ptrdiff_t blocks) {
    reduce_3_to_2(row0, row1, row2, out0, out1, blocks, 1);
}

static void reduce_chroma_3_to_2(
    const uint8_t *row0, const uint8_t *row1, const uint8_t *row2, uint8_t *out0, uint8_t *out1, ptrdiff_t blocks) {
    reduce_3_to_2(row0, row1, row2, out0, out1, blocks, 2);
}

const pixels_kernels pixels_portable_kernels = {bgrx_to_nv12, reduce_luma_3_to_2, reduce_chroma_3_to_2};
