#pragma once
#include <ft2build.h>
#include FT_FREETYPE_H

/* An expression macro that Swift does not import. */
static const int oriel_freetype_render = FT_LOAD_RENDER | FT_LOAD_TARGET_LIGHT;
