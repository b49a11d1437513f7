#pragma once
#include <pulse/pulseaudio.h>

/* Macros that Swift does not import. */
static const uint32_t oriel_pulse_invalid_index = PA_INVALID_INDEX;
static const pa_volume_t oriel_pulse_volume_norm = PA_VOLUME_NORM;
static const pa_sample_format_t oriel_pulse_s16_native = PA_SAMPLE_S16NE;
