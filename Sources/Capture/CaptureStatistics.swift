/// The work of a capture process since it began. Times are processor time.
package struct CaptureStatistics: Sendable {
    /// How often it looked at the screen.
    package internal(set) var looks = 0
    package internal(set) var framesPublished = 0
    /// How many looks found a change for which there was no damage event.
    package internal(set) var misses = 0
    /// Spent on asking the X server for pixels.
    package internal(set) var grabTime = Duration.zero
    /// Spent on finding the tiles that differ.
    package internal(set) var compareTime = Duration.zero
    /// Spent on converting tiles to NV12 in the frames file.
    package internal(set) var convertTime = Duration.zero
    /// Bytes of pixels that came from the X server.
    package internal(set) var bytesGrabbed: UInt64 = 0
    /// Bytes of NV12 that were written.
    package internal(set) var bytesConverted: UInt64 = 0

    static func + (one: Self, other: Self) -> Self {
        var sum = one
        sum.looks += other.looks
        sum.framesPublished += other.framesPublished
        sum.misses += other.misses
        sum.grabTime += other.grabTime
        sum.compareTime += other.compareTime
        sum.convertTime += other.convertTime
        sum.bytesGrabbed += other.bytesGrabbed
        sum.bytesConverted += other.bytesConverted
        return sum
    }
}
