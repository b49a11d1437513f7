/// The work of a capture process so far. Times are processor time.
package struct CaptureStatistics: Sendable {
    package internal(set) var looks = 0
    package internal(set) var framesPublished = 0
    /// Looks that found a change without a damage event.
    package internal(set) var misses = 0
    /// Time of requests for pixels to the X server.
    package internal(set) var grabTime = Duration.zero
    /// Time of finding the tiles that differ.
    package internal(set) var compareTime = Duration.zero
    /// Time of converting tiles to NV12 in the frames file.
    package internal(set) var convertTime = Duration.zero
    /// Bytes of pixels from the X server.
    package internal(set) var bytesGrabbed: UInt64 = 0
    /// Written bytes of NV12.
    package internal(set) var bytesConverted: UInt64 = 0
}
