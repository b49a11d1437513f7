/// The status of a sender, as `oriel status` tells it.
package struct SenderStatus: Codable, Sendable {
    /// A viewer of the sender's web call. Names and units are those of the command's JSON.
    package struct Viewer: Codable, Sendable {
        package var id = 0
        package var address = ""
        /// Seconds since it joined.
        package var sinceS = 0.0
        package var codec = ""
        package var state = ""
        package var bitrateBps = 0
        package var rttMs: Double?
        package var lossRatio: Double?
        package var framesSent: UInt64 = 0
        package var nacks: UInt64 = 0
        package var plis: UInt64 = 0
        package var srtp: String?
        package var path: String?

        package init() {}
    }

    /// The calls, as the command line names them.
    package var calls: [String]
    /// The target of rate control, in bits a second.
    package var bitrateBps: Int
    package var viewers: [Viewer]

    package init(calls: [String], bitrateBps: Int, viewers: [Viewer]) {
        self.calls = calls
        self.bitrateBps = bitrateBps
        self.viewers = viewers
    }
}
