#pragma once
#include <vpx/vp8cx.h>
#include <vpx/vp8dx.h>
#include <vpx/vpx_decoder.h>
#include <vpx/vpx_encoder.h>

/* Macros that Swift does not import. */
static const int oriel_vpx_encoder_abi_version = VPX_ENCODER_ABI_VERSION;
static const int oriel_vpx_decoder_abi_version = VPX_DECODER_ABI_VERSION;

/* A variadic function, which Swift does not import. */
static inline vpx_codec_err_t oriel_vpx_set(vpx_codec_ctx_t *context, int control, int value) {
    return vpx_codec_control_(context, control, value);
}

static inline vpx_codec_err_t oriel_vpx_exchange(vpx_codec_ctx_t *context, int control, void *data) {
    return vpx_codec_control_(context, control, data);
}
