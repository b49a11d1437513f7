#include "CPixels.h"

enum { BLACK = 16, WHITE = 235, GREY = 128, CHROMA_REACH = 112 };

static inline uint16_t smaller(uint16_t a, uint16_t b) { return a < b ? a : b; }

void pixels_tone_luma(uint8_t *samples, ptrdiff_t count, const pixels_tone *tone) {
    const uint16_t shadows = tone->shadows, lights = tone->lights, lift = tone->lift;
    // 16 bits hold 239 * 256. The loops are such that compilers use vectors.
    for (ptrdiff_t i = 0; i < count; i++) {
        uint16_t value = samples[i] < BLACK ? 0 : (uint16_t)(samples[i] - BLACK);
        uint16_t low = (uint16_t)(value * shadows) >> 5;
        uint16_t high = (uint16_t)(((uint16_t)(value * lights) >> 5) + lift);
        samples[i] = (uint8_t)(smaller(smaller(low, high), WHITE - BLACK) + BLACK);
    }
}

void pixels_tone_chroma(uint8_t *samples, ptrdiff_t count, const pixels_tone *tone) {
    const int16_t factor = tone->chroma;
    for (ptrdiff_t i = 0; i < count; i++) {
        int16_t value = (int16_t)((int16_t)((int16_t)(samples[i] - GREY) * factor + 16) >> 5);
        value = value < -CHROMA_REACH ? -CHROMA_REACH : value;
        value = value > CHROMA_REACH ? CHROMA_REACH : value;
        samples[i] = (uint8_t)(value + GREY);
    }
}

void pixels_count_luma(
    const uint8_t *luma, ptrdiff_t stride, ptrdiff_t width, ptrdiff_t height, ptrdiff_t step, uint32_t counts[256]) {
    for (ptrdiff_t y = 0; y < height; y += step) {
        for (ptrdiff_t x = 0; x < width; x += step) counts[luma[y * stride + x]]++;
    }
}
