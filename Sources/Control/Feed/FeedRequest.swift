/// A byte that a recorder sends to the sender of its feed.
package enum FeedRequest: UInt8 {
    /// Send a keyframe soon.
    case keyframe = 0x4B  // K
    /// Send nothing for now: a person has paused the recorder.
    case pause = 0x50  // P
    case resume = 0x52  // R
}
