#include "CPixels.h"

#if defined(__x86_64__)

#include "Coefficients.h"

#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))

AVX2 static inline __m256i load(const uint8_t *bytes) { return _mm256_loadu_si256((const __m256i *)bytes); }

AVX2 static inline void store(uint8_t *bytes, __m256i value) { _mm256_storeu_si256((__m256i *)bytes, value); }

/// Undoes the order of two rounds of packing inside 128-bit lanes.
AVX2 static inline __m256i in_order(__m256i packed) {
    return _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

/// The luma of 16 pixels in 16 bits each: pixels 0-3 of each input in the low lane, 4-7 in the high one.
AVX2 static inline __m256i luma_of_16(__m256i pixels0, __m256i pixels1) {
    // maddubs multiplies unsigned by signed. 129 does not fit a signed byte, but pixel - 128 does.
    const __m256i coefficients = _mm256_set1_epi32(LUMA_B | LUMA_G << 8 | LUMA_R << 16);
    const __m256i sign = _mm256_set1_epi8((char)0x80);
    const __m256i bias = _mm256_set1_epi16(LUMA_BIAS + 128 * (LUMA_B + LUMA_G + LUMA_R));
    __m256i sums0 = _mm256_maddubs_epi16(coefficients, _mm256_xor_si256(pixels0, sign));
    __m256i sums1 = _mm256_maddubs_epi16(coefficients, _mm256_xor_si256(pixels1, sign));
    return _mm256_srli_epi16(_mm256_add_epi16(_mm256_hadd_epi16(sums0, sums1), bias), 8);
}

AVX2 static inline void write_luma_of_32(uint8_t *luma, const __m256i pixels[4]) {
    store(luma, in_order(_mm256_packus_epi16(luma_of_16(pixels[0], pixels[1]), luma_of_16(pixels[2], pixels[3]))));
}

/// Four chroma samples from 8 x 2 pixels in 32 bits each: Cb, Cb, Cr, Cr in either lane.
AVX2 static inline __m256i chroma_of_8(__m256i pixels0, __m256i pixels1) {
    const __m256i pairs = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15));
    const __m256i ones = _mm256_set1_epi8(1);
    const __m256i cb = _mm256_broadcastsi128_si256(_mm_setr_epi16(CB_B, CB_G, CB_R, 0, CB_B, CB_G, CB_R, 0));
    const __m256i cr = _mm256_broadcastsi128_si256(_mm_setr_epi16(CR_B, CR_G, CR_R, 0, CR_B, CR_G, CR_R, 0));
    __m256i sums = _mm256_add_epi16(
        _mm256_maddubs_epi16(_mm256_shuffle_epi8(pixels0, pairs), ones),
        _mm256_maddubs_epi16(_mm256_shuffle_epi8(pixels1, pairs), ones));
    __m256i both = _mm256_hadd_epi32(_mm256_madd_epi16(sums, cb), _mm256_madd_epi16(sums, cr));
    return _mm256_srai_epi32(_mm256_add_epi32(both, _mm256_set1_epi32(CHROMA_BIAS)), CHROMA_SHIFT);
}

AVX2 static inline void write_chroma_of_32(uint8_t *chroma, const __m256i pixels0[4], const __m256i pixels1[4]) {
    const __m256i interleave = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15));
    __m256i low = _mm256_packs_epi32(chroma_of_8(pixels0[0], pixels1[0]), chroma_of_8(pixels0[1], pixels1[1]));
    __m256i high = _mm256_packs_epi32(chroma_of_8(pixels0[2], pixels1[2]), chroma_of_8(pixels0[3], pixels1[3]));
    store(chroma, in_order(_mm256_shuffle_epi8(_mm256_packus_epi16(low, high), interleave)));
}

AVX2 static void bgrx_to_nv12(
    const uint8_t *bgrx0, const uint8_t *bgrx1, uint8_t *luma0, uint8_t *luma1, uint8_t *chroma, ptrdiff_t width) {
    // The picture comes fresh from another process, and rows are longer than what the hardware prefetches ahead.
    const ptrdiff_t ahead = 2 * (bgrx1 - bgrx0);
    ptrdiff_t x = 0;
    for (; x + 32 <= width; x += 32) {
        __m256i pixels0[4], pixels1[4];
        for (int line = 0; line < 128; line += 64) {
            _mm_prefetch((const char *)bgrx0 + 4 * x + ahead + line, _MM_HINT_T0);
            _mm_prefetch((const char *)bgrx1 + 4 * x + ahead + line, _MM_HINT_T0);
        }
        for (int i = 0; i < 4; i++) {
            pixels0[i] = load(bgrx0 + 4 * x + 32 * i);
            pixels1[i] = load(bgrx1 + 4 * x + 32 * i);
        }
        write_luma_of_32(luma0 + x, pixels0);
        write_luma_of_32(luma1 + x, pixels1);
        write_chroma_of_32(chroma + x, pixels0, pixels1);
    }
    if (x < width) {
        pixels_portable_kernels.bgrx_to_nv12(
            bgrx0 + 4 * x, bgrx1 + 4 * x, luma0 + x, luma1 + x, chroma + x, width - x);
    }
}

/// 2a + b of each wanted pair of samples in 24 bytes, as 16 numbers of 16 bits. Reads 28 bytes.
AVX2 static inline __m256i weigh_pairs(const uint8_t *bytes, __m256i pairs) {
    __m256i halves = _mm256_inserti128_si256(
        _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)bytes)),
        _mm_loadu_si128((const __m128i *)(bytes + 12)), 1);
    return _mm256_maddubs_epi16(_mm256_shuffle_epi8(halves, pairs), _mm256_set1_epi16(1 << 8 | 2));
}

/// (2 near + far) / 9, rounded.
AVX2 static inline __m256i average(__m256i near, __m256i far) {
    const __m256i ninth = _mm256_set1_epi16(7282);  // 65536 / 9 rounded up: exact for all sums of nine bytes
    __m256i sum = _mm256_add_epi16(_mm256_add_epi16(near, near), _mm256_add_epi16(far, _mm256_set1_epi16(4)));
    return _mm256_mulhi_epu16(sum, ninth);
}

/// Puts `a` before `b`, in bytes.
AVX2 static inline __m256i pack(__m256i a, __m256i b) {
    return _mm256_permute4x64_epi64(_mm256_packus_epi16(a, b), _MM_SHUFFLE(3, 1, 2, 0));
}

/// `pairs` picks, out of 12 bytes, the near and the far byte of each of 8 results. Returns the blocks done; the rest is
/// too short to be read 16 bytes at a time.
AVX2 static inline __attribute__((always_inline)) ptrdiff_t reduce_3_to_2(
    const uint8_t *row0, const uint8_t *row1, const uint8_t *row2, uint8_t *out0, uint8_t *out1, ptrdiff_t blocks,
    ptrdiff_t step, __m128i pairs_of_lane) {
    const __m256i pairs = _mm256_broadcastsi128_si256(pairs_of_lane);
    const ptrdiff_t ahead = 3 * (row1 - row0);
    ptrdiff_t block = 0;
    for (; 3 * step * block + 52 <= 3 * step * blocks; block += 16 / step) {
        ptrdiff_t in = 3 * step * block, out = 2 * step * block;
        _mm_prefetch((const char *)row0 + in + ahead, _MM_HINT_T0);
        _mm_prefetch((const char *)row1 + in + ahead, _MM_HINT_T0);
        _mm_prefetch((const char *)row2 + in + ahead, _MM_HINT_T0);
        __m256i low0 = weigh_pairs(row0 + in, pairs), high0 = weigh_pairs(row0 + in + 24, pairs);
        __m256i low1 = weigh_pairs(row1 + in, pairs), high1 = weigh_pairs(row1 + in + 24, pairs);
        __m256i low2 = weigh_pairs(row2 + in, pairs), high2 = weigh_pairs(row2 + in + 24, pairs);
        store(out0 + out, pack(average(low0, low1), average(high0, high1)));
        store(out1 + out, pack(average(low2, low1), average(high2, high1)));
    }
    return block;
}

AVX2 static void reduce_luma_3_to_2(
    const uint8_t *row0, const uint8_t *row1, const uint8_t *row2, uint8_t *out0, uint8_t *out1, ptrdiff_t blocks) {
    const __m128i pairs = _mm_setr_epi8(0, 1, 2, 1, 3, 4, 5, 4, 6, 7, 8, 7, 9, 10, 11, 10);
    ptrdiff_t done = reduce_3_to_2(row0, row1, row2, out0, out1, blocks, 1, pairs);
    pixels_portable_kernels.reduce_luma_3_to_2(
        row0 + 3 * done, row1 + 3 * done, row2 + 3 * done, out0 + 2 * done, out1 + 2 * done, blocks - done);
}

AVX2 static void reduce_chroma_3_to_2(
    const uint8_t *row0, const uint8_t *row1, const uint8_t *row2, uint8_t *out0, uint8_t *out1, ptrdiff_t blocks) {
    const __m128i pairs = _mm_setr_epi8(0, 2, 1, 3, 4, 2, 5, 3, 6, 8, 7, 9, 10, 8, 11, 9);
    ptrdiff_t done = reduce_3_to_2(row0, row1, row2, out0, out1, blocks, 2, pairs);
    pixels_portable_kernels.reduce_chroma_3_to_2(
        row0 + 6 * done, row1 + 6 * done, row2 + 6 * done, out0 + 4 * done, out1 + 4 * done, blocks - done);
}

const pixels_kernels pixels_avx2_kernels = {bgrx_to_nv12, reduce_luma_3_to_2, reduce_chroma_3_to_2};

bool pixels_has_avx2(void) { return __builtin_cpu_supports("avx2") != 0; }

#else

bool pixels_has_avx2(void) { return false; }

#endif
