#pragma once
#include <vpx/vp8cx.h>
#include <vpx/vpx_encoder.h>

/* A macro that Swift does not import. */
static const int oriel_vpx_encoder_abi_version = VPX_ENCODER_ABI_VERSION;
