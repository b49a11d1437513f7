/// How a sender is, as `oriel status` tells it.
package struct SenderStatus: Codable, Sendable {
    /// Somebody who looks in. Names and units are those of the command's JSON.
    package struct Viewer: Codable, Sendable {
        package var id: Int
        package var address: String
        /// Seconds since it joined.
        package var sinceS: Double
        package var codec: String
        package var state: String
        package var bitrateBps: Int
        package var rttMs: Double?
        package var lossRatio: Double?
        package var framesSent: UInt64
        package var nacks: UInt64
        package var plis: UInt64
        package var srtp: String?
        package var path: String?

        package init(
            id: Int,
            address: String,
            sinceS: Double,
            codec: String,
            state: String,
            bitrateBps: Int,
            rttMs: Double?,
            lossRatio: Double?,
            framesSent: UInt64,
            nacks: UInt64,
            plis: UInt64,
            srtp: String?,
            path: String?
        ) {
            self.id = id
            self.address = address
            self.sinceS = sinceS
            self.codec = codec
            self.state = state
            self.bitrateBps = bitrateBps
            self.rttMs = rttMs
            self.lossRatio = lossRatio
            self.framesSent = framesSent
            self.nacks = nacks
            self.plis = plis
            self.srtp = srtp
            self.path = path
        }
    }

    /// Where it sends, as the command line names it.
    package var calls: [String]
    /// The target of rate control.
    package var bitrateBps: Int
    package var viewers: [Viewer]

    package init(calls: [String], bitrateBps: Int, viewers: [Viewer]) {
        self.calls = calls
        self.bitrateBps = bitrateBps
        self.viewers = viewers
    }
}
