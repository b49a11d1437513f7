#pragma once
#include <libyuv.h>

/* The constants are globals of C++, which Swift does not import. "ARGB" are bytes blue, green, red and alpha. */
static inline int oriel_nv12_to_bgrx(
    const uint8_t *luma, int luma_stride, const uint8_t *chroma, int chroma_stride, uint8_t *bgrx, int bgrx_stride,
    int width, int height) {
    return NV12ToARGBMatrix(
        luma, luma_stride, chroma, chroma_stride, bgrx, bgrx_stride, &kYuvI601Constants, width, height);
}
