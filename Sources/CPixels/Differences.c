#include "CPixels.h"

#include <string.h>

static inline ptrdiff_t smaller(ptrdiff_t a, ptrdiff_t b) { return a < b ? a : b; }

static inline bool holds(const uint64_t *bits, ptrdiff_t index) { return bits[index / 64] >> (index % 64) & 1; }

void pixels_find_differences(
    const uint8_t *a, ptrdiff_t a_stride, const uint8_t *b, ptrdiff_t b_stride, ptrdiff_t row_bytes, ptrdiff_t rows,
    ptrdiff_t block_bytes, uint64_t *differing) {
    const ptrdiff_t blocks = (row_bytes + block_bytes - 1) / block_bytes;
    ptrdiff_t undecided = blocks;
    for (ptrdiff_t y = 0; y < rows && undecided > 0; y++, a += a_stride, b += b_stride) {
        for (ptrdiff_t block = 0; block < blocks;) {
            if (holds(differing, block)) {
                block++;
                continue;
            }
            ptrdiff_t end = block + 1;
            while (end < blocks && !holds(differing, end)) end++;
            // Most rows are alike: first all blocks side by side that may be, then each.
            ptrdiff_t start_byte = block * block_bytes, end_byte = smaller(end * block_bytes, row_bytes);
            if (memcmp(a + start_byte, b + start_byte, (size_t)(end_byte - start_byte)) != 0) {
                for (; block < end; block++) {
                    ptrdiff_t byte = block * block_bytes;
                    if (memcmp(a + byte, b + byte, (size_t)smaller(block_bytes, row_bytes - byte)) == 0) continue;
                    differing[block / 64] |= (uint64_t)1 << (block % 64);
                    undecided--;
                }
            }
            block = end;
        }
    }
}

/// Makes `target` equal to `source`; returns whether it was not.
static inline __attribute__((always_inline)) bool update(
    uint8_t *target, ptrdiff_t target_stride, const uint8_t *source, ptrdiff_t source_stride, ptrdiff_t row_bytes,
    ptrdiff_t rows) {
    ptrdiff_t y = 0;
    while (y < rows && memcmp(target + y * target_stride, source + y * source_stride, (size_t)row_bytes) == 0) y++;
    if (y == rows) return false;
    for (; y < rows; y++) memcpy(target + y * target_stride, source + y * source_stride, (size_t)row_bytes);
    return true;
}

void pixels_update_blocks(
    uint8_t *target, ptrdiff_t target_stride, const uint8_t *source, ptrdiff_t source_stride, ptrdiff_t row_bytes,
    ptrdiff_t rows, uint64_t *changed) {
    for (ptrdiff_t block = 0, byte = 0; byte < row_bytes; block++, byte += PIXELS_MACROBLOCK) {
        bool differs =
            row_bytes - byte >= PIXELS_MACROBLOCK
            // A constant size lets the compiler do without calls.
            ? update(target + byte, target_stride, source + byte, source_stride, PIXELS_MACROBLOCK, rows)
            : update(target + byte, target_stride, source + byte, source_stride, row_bytes - byte, rows);
        if (differs) changed[block / 64] |= (uint64_t)1 << (block % 64);
    }
}

static inline uint8_t distance(uint8_t a, uint8_t b) { return a > b ? a - b : b - a; }

static inline __attribute__((always_inline)) uint8_t
most_distant(const uint8_t *a, ptrdiff_t step, const uint8_t *b, ptrdiff_t count) {
    uint8_t most = 0;
    for (ptrdiff_t x = 0; x < count; x++) {
        uint8_t here = distance(a[x * step], b[x]);
        most = here > most ? here : most;
    }
    return most;
}

void pixels_find_errors(
    const uint8_t *a, ptrdiff_t a_stride, ptrdiff_t step, const uint8_t *b, ptrdiff_t b_stride, ptrdiff_t width,
    ptrdiff_t rows, uint8_t most, uint64_t *wrong) {
    const ptrdiff_t side = PIXELS_MACROBLOCK / step;
    for (ptrdiff_t y = 0; y < rows; y++, a += a_stride, b += b_stride) {
        for (ptrdiff_t block = 0, x = 0; x < width; block++, x += side) {
            const uint8_t *first = a + x * step, *second = b + x;
            // Constant sizes let the compiler do without loops.
            uint8_t here = width - x < side ? most_distant(first, step, second, width - x)
                : step == 1                 ? most_distant(first, 1, second, PIXELS_MACROBLOCK)
                                            : most_distant(first, 2, second, PIXELS_MACROBLOCK / 2);
            if (here > most) wrong[block / 64] |= (uint64_t)1 << (block % 64);
        }
    }
}

int pixels_compare_macroblocks(
    const uint8_t *luma, const uint8_t *old_luma, ptrdiff_t luma_stride, const uint8_t *chroma,
    const uint8_t *old_chroma, ptrdiff_t chroma_stride, int chroma_rows) {
    for (ptrdiff_t y = 0; y < PIXELS_MACROBLOCK; y++) {
        if (memcmp(luma + y * luma_stride, old_luma + y * luma_stride, PIXELS_MACROBLOCK) != 0) return -1;
    }
    uint8_t most = 0;
    for (ptrdiff_t y = 0; y < PIXELS_MACROBLOCK / 2; y++) {
        for (ptrdiff_t row = 0; row < chroma_rows; row++) {
            const uint8_t *a = chroma + y * chroma_stride, *b = old_chroma + (y + row) * chroma_stride;
            for (ptrdiff_t x = 0; x < PIXELS_MACROBLOCK; x++) {
                uint8_t here = distance(a[x], b[x]);
                most = here > most ? here : most;
            }
        }
    }
    return most;
}
