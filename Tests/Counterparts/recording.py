"""What is heard, in a file; and how libwebrtc, by way of the package wrtc, is made to give both channels of it."""


class Recording:
    """16 bit, 48 kHz, two channels in turn."""

    def __init__(self, path):
        self.file = open(path, "wb")
        self.seconds = 0

    def write(self, samples):
        self.file.write(samples)
        self.file.flush()
        self.seconds += len(samples) / (48000 * 4)


async def record(track, recording):
    """Writes what libwebrtc would play of a track."""
    import webrtc

    async for data in webrtc.MediaStreamTrackProcessor(webrtc.MediaStreamTrackProcessorInit(track=track)).readable:
        with data:
            frames, channels = data.number_of_frames, data.number_of_channels
            samples = memoryview(bytearray(frames * channels * 2))
            data.copy_to(samples, webrtc.AudioDataCopyToOptions(plane_index=0, format="s16"))
            if channels == 1:
                samples = b"".join(bytes(samples[2 * i : 2 * i + 2]) * 2 for i in range(frames))
            recording.write(samples)


def with_both_channels(description):
    """Without that in a description of its own, libwebrtc makes one channel of two."""
    import webrtc

    sdp = description.sdp.replace("useinbandfec=1", "useinbandfec=1;stereo=1")
    return webrtc.RTCSessionDescriptionInit(type=description.type, sdp=sdp)
