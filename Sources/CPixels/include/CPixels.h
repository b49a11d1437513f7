#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Converts two rows of BGRX to two rows of luma and one of interleaved chroma (Cb first): BT.601, limited range.
///
/// `width` is in pixels and at least 1. When it is odd the last pixel is repeated, so that `width + 1` bytes are
/// written to each of the three outputs. The inputs may be the same row; the outputs overlap nothing.
typedef void pixels_bgrx_to_nv12_rows(
    const uint8_t *bgrx0, const uint8_t *bgrx1, uint8_t *luma0, uint8_t *luma1, uint8_t *chroma, ptrdiff_t width);

/// Averages three rows into two, and each three samples of a row into two, by area: an output sample covers 1.5 x 1.5
/// input samples. `blocks` counts the groups of three input samples in a row.
typedef void pixels_reduce_3_to_2_rows(
    const uint8_t *row0, const uint8_t *row1, const uint8_t *row2, uint8_t *out0, uint8_t *out1, ptrdiff_t blocks);

/// One implementation of every kernel. All implementations give the same bits.
typedef struct {
    pixels_bgrx_to_nv12_rows *bgrx_to_nv12;
    pixels_reduce_3_to_2_rows *reduce_luma_3_to_2;    // a sample is one byte
    pixels_reduce_3_to_2_rows *reduce_chroma_3_to_2;  // a sample is two bytes, Cb and Cr
} pixels_kernels;

/// The reference: plain loops that a compiler turns into the vector instructions of any processor.
extern const pixels_kernels pixels_portable_kernels;

#if defined(__x86_64__)
/// Only for processors where `pixels_has_avx2`.
extern const pixels_kernels pixels_avx2_kernels;
#endif

bool pixels_has_avx2(void);

/// Where one colour stands in a pixel, read as a 32-bit number.
typedef struct {
    uint32_t mask;
    uint8_t left_shift;  // brings the highest bit of the mask to bit 31
    uint8_t repeat;      // the number of bits in the mask when fewer than 8, else 0
} pixels_channel;

typedef struct {
    uint8_t bytes_per_pixel;  // 2, 3 or 4
    bool big_endian;
    pixels_channel red, green, blue;
} pixels_packed_format;

/// Expands a row of any packed RGB format to BGRX with 8 bits a channel and X = 0.
///
/// Narrow channels are widened by repeating their bits, so that full scale stays full scale; wide ones are cut.
void pixels_expand_to_bgrx(const uint8_t *packed, uint8_t *bgrx, ptrdiff_t width, const pixels_packed_format *format);

/// Converts a row of NV12, BT.601 limited range, to bytes R, G, B. `width` is even.
void pixels_nv12_to_rgb(const uint8_t *luma, const uint8_t *chroma, uint8_t *rgb, ptrdiff_t width);

/// The weighted sum of `taps` neighbouring rows. The weights add up to 256, so that nothing is rounded yet.
void pixels_blend_rows(
    const uint8_t *rows, ptrdiff_t stride, const uint16_t *weights, ptrdiff_t taps, uint16_t *out, ptrdiff_t count);

/// Output sample i is the weighted sum of the `taps` samples of a blended row from `first[i]` on, rounded; its weights,
/// from `weights[taps * i]` on, add up to 256. `count` is in samples.
void pixels_resample_luma(
    const uint16_t *row, const uint32_t *first, const uint16_t *weights, ptrdiff_t taps, uint8_t *out,
    ptrdiff_t count);
void pixels_resample_chroma(
    const uint16_t *row, const uint32_t *first, const uint16_t *weights, ptrdiff_t taps, uint8_t *out,
    ptrdiff_t count);

/// Sets the bit of every block of `block_bytes` x `rows` bytes in which two images differ. The blocks stand side by side;
/// the last one ends with the row. Blocks whose bit is set already are not looked at.
void pixels_find_differences(
    const uint8_t *a, ptrdiff_t a_stride, const uint8_t *b, ptrdiff_t b_stride, ptrdiff_t row_bytes, ptrdiff_t rows,
    ptrdiff_t block_bytes, uint64_t *differing);

enum { PIXELS_MACROBLOCK = 16 };

/// Sets the bit of every block of 16 / `step` x `rows` samples in which two planes are more than `most` apart somewhere.
/// The samples of the first stand `step` bytes apart: 1 for luma, 2 for a component of interleaved chroma. Those of the
/// second stand side by side, as the blocks do; the last block ends with the row. `width` is in samples.
void pixels_find_errors(
    const uint8_t *a, ptrdiff_t a_stride, ptrdiff_t step, const uint8_t *b, ptrdiff_t b_stride, ptrdiff_t width,
    ptrdiff_t rows, uint8_t most, uint64_t *wrong);

/// Makes `target` equal to `source`, and sets the bit of every block of 16 x `rows` bytes that was not. The blocks stand
/// side by side; the last one ends with the row.
void pixels_update_blocks(
    uint8_t *target, ptrdiff_t target_stride, const uint8_t *source, ptrdiff_t source_stride, ptrdiff_t row_bytes,
    ptrdiff_t rows, uint64_t *changed);

/// A number that is another one for nearly every other row.
uint64_t pixels_hash_row(const uint8_t *bytes, ptrdiff_t count);

/// The largest difference of chroma between two macroblocks of NV12 whose luma is the same; -1 if it is not. Each row of
/// chroma is compared with `chroma_rows` rows, from the same one on.
int pixels_compare_macroblocks(
    const uint8_t *luma, const uint8_t *old_luma, ptrdiff_t luma_stride, const uint8_t *chroma,
    const uint8_t *old_chroma, ptrdiff_t chroma_stride, int chroma_rows);

/// A curve for the luma, of two straight lines, and a factor for the chroma. Numbers are in 32nds.
typedef struct {
    uint16_t shadows;  // the slope near black, at most 256
    uint16_t lights, lift;  // the line above: its slope, at most 256, and where it begins, in codes
    int16_t chroma;  // 0 to 128
} pixels_tone;

/// Applies a curve to samples of luma: black, 16, stays, and nothing is above white, 235.
void pixels_tone_luma(uint8_t *samples, ptrdiff_t count, const pixels_tone *tone);

/// Moves samples of chroma away from grey, 128, within 16 to 240.
void pixels_tone_chroma(uint8_t *samples, ptrdiff_t count, const pixels_tone *tone);

/// Counts samples of luma by their value: each `step`th of each `step`th row. `width` and `height` are in samples.
void pixels_count_luma(
    const uint8_t *luma, ptrdiff_t stride, ptrdiff_t width, ptrdiff_t height, ptrdiff_t step, uint32_t counts[256]);
