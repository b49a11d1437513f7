#pragma once
#include <aom/aom_decoder.h>
#include <aom/aom_encoder.h>
#include <aom/aomcx.h>
#include <aom/aomdx.h>

/* Macros that Swift does not import. */
static const int oriel_aom_encoder_abi_version = AOM_ENCODER_ABI_VERSION;
static const int oriel_aom_decoder_abi_version = AOM_DECODER_ABI_VERSION;

/* A variadic function, which Swift does not import. */
static inline aom_codec_err_t oriel_aom_set(aom_codec_ctx_t *context, int control, int value) {
    return aom_codec_control(context, control, value);
}

static inline aom_codec_err_t oriel_aom_exchange(aom_codec_ctx_t *context, int control, void *data) {
    return aom_codec_control(context, control, data);
}
