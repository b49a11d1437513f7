#pragma once

// BT.601 (ITU-R BT.601-7, 2.5): KR = 0.299, KB = 0.114; 8 bits, luma 16...235, chroma 16...240.

// Luma in 1/256. The sum, 220, takes white to 235 and black to 16; LUMA_BIAS is 16 and one half.
enum { LUMA_R = 66, LUMA_G = 129, LUMA_B = 25, LUMA_BIAS = 16 * 256 + 128 };

// Chroma in 1/32768 of one pixel, applied to sums of four. Each row adds up to 0, so grey has no colour at all.
enum {
    CB_R = -4857, CB_G = -9535, CB_B = 14392,
    CR_R = 14392, CR_G = -12052, CR_B = -2340,
    CHROMA_SHIFT = 15 + 2,
    CHROMA_BIAS = (128 << CHROMA_SHIFT) + (1 << (CHROMA_SHIFT - 1)),
};
