#include "CPixels.h"

// The inverse of BT.601, limited range, in 1/65536: 255/219, and 255/224 times 1.402, 0.34414, 0.71414 and 1.772.
enum { LUMA = 76309, R_CR = 104597, G_CB = -25675, G_CR = -53279, B_CB = 132201 };

static inline uint8_t clamp(int32_t value) {
    int32_t rounded = (value + (1 << 15)) >> 16;
    return (uint8_t)(rounded < 0 ? 0 : rounded > 255 ? 255 : rounded);
}

void pixels_nv12_to_rgb(const uint8_t *luma, const uint8_t *chroma, uint8_t *rgb, ptrdiff_t width) {
    for (ptrdiff_t x = 0; x < width; x++) {
        int32_t y = LUMA * (luma[x] - 16), cb = chroma[x & ~1] - 128, cr = chroma[x | 1] - 128;
        rgb[3 * x] = clamp(y + R_CR * cr);
        rgb[3 * x + 1] = clamp(y + G_CB * cb + G_CR * cr);
        rgb[3 * x + 2] = clamp(y + B_CB * cb);
    }
}
