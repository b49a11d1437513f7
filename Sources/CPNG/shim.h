#pragma once
#include <stdio.h>
#include <png.h>

/* An expression macro that Swift does not import. */
static const int oriel_png_rgb = PNG_FORMAT_RGB;
