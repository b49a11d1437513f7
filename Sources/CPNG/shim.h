#pragma once
#include <stdio.h>
#include <png.h>

/* An expression macro that Swift does not import. */
static const int oriel_png_rgb = PNG_FORMAT_RGB;

/* Bytes that a picture's file has at the most. */
static inline size_t oriel_png_longest(png_image image) { return PNG_IMAGE_PNG_SIZE_MAX(image); }
