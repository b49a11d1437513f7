#pragma once

// BT.709 (ITU-R BT.709-6, 3.2 and 4): KR = 0.2126, KB = 0.0722; 8 bits, luma 16...235, chroma 16...240.

// Luma in 1/256. The sum, 220, takes white to 235 and black to 16; LUMA_BIAS is 16 and one half.
enum { LUMA_R = 47, LUMA_G = 157, LUMA_B = 16, LUMA_BIAS = 16 * 256 + 128 };

// Chroma in 1/32768 of one pixel, applied to sums of four. Each row adds up to 0, so grey has no colour at all.
enum {
    CB_R = -3298, CB_G = -11094, CB_B = 14392,
    CR_R = 14392, CR_G = -13072, CR_B = -1320,
    CHROMA_SHIFT = 15 + 2,
    CHROMA_BIAS = (128 << CHROMA_SHIFT) + (1 << (CHROMA_SHIFT - 1)),
};
