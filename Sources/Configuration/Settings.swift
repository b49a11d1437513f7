package import FrameBridge
package import HTTP
package import Media
package import Pixels

// What options, which begin with these defaults, say to the processes that they are for. A name has no acronym after its first letter
// (`Encodable.jsonLine`).

/// Who is let into a call.
package enum AcceptPolicy: String, Codable, CaseIterable, Sendable {
    /// Everybody who finds it.
    case all
    /// Viewers that a person accepts.
    case ask
    /// Known viewers, and others that a person accepts.
    case known
}

package enum CodecChoice: String, Codable, CaseIterable, Sendable {
    case auto, vp8, vp9, av1

    /// The codecs in groups: of each group, a viewer gets the first one that it takes.
    package var codecs: [[VideoCodec]] {
        switch self {
        case .auto: [[.vp8, .vp9], [.av1]]
        case .vp8: [[.vp8]]
        case .vp9: [[.vp9]]
        case .av1: [[.av1]]
        }
    }
}

package struct VideoSettings: Codable, Equatable, Sendable {
    package var size = PixelSize(width: 1280, height: 720)
    package var codec = CodecChoice.auto
    package var bitrate = Bitrate(bitsPerSecond: 2_500_000)
    /// Encodes of one codec at most.
    package var renditions = 2
    /// Seconds; 0 for none, nil where it goes by the call.
    package var keyframeInterval: Double?
    package var vp8Profile = 0
    package var patches = true

    package init() {}
}

package struct AccessSettings: Codable, Equatable, Sendable {
    package var accept = AcceptPolicy.all
    /// Seconds.
    package var answerTimeout = 30

    package init() {}
}

package struct TalkSettings: Codable, Equatable, Sendable {
    package var talkback = TalkPolicy.off
    /// Voices heard at once.
    package var talkers = 1

    package init() {}
}

/// Where a web server listens, and its certificate.
package struct ServerSettings: Codable, Equatable, Sendable {
    package var listen = ListenAddress(host: nil, port: 8080)
    package var certificate: String?
    package var key: String?
    /// Whether it has a certificate of the machine's own.
    package var makesCertificate = false
    package var proxies: [AddressRange] = []

    package init() {}
}

package struct ICEServerSettings: Codable, Equatable, Sendable {
    package var stun: STUNServer?
    package var turn: [TURNServer] = []
    /// What the TURN servers share.
    package var secret: Secret?

    package init() {}
}

package struct WebCallSettings: Codable, Equatable, Sendable {
    package var server = ServerSettings()
    package var iceServers = ICEServerSettings()
    /// Nil lets everybody in.
    package var token: Secret?
    package var origins: [WebOrigin] = []
    /// A file of certificates.
    package var trust: String?
    package var ports: ClosedRange<UInt16>?
    package var relayOnly = false
    package var maxViewers = 50

    package init() {}
}

/// What lets this side into calls that others run.
package struct CallCredentials: Codable, Equatable, Sendable {
    package var whipToken: Secret?
    package var janusSecret: Secret?
    package var janusToken: Secret?
    package var janusPin: Secret?

    package init() {}
}

/// What the other member of a room is told of this side.
package struct Introduction: Codable, Equatable, Sendable {
    package var name = ""
    package var note = ""
}

package struct RenderingSettings: Codable, Equatable, Sendable {
    /// A file, `window` or `-`; nil shows no pictures of others.
    package var render: String?
    package var preview = false
}

/// Of one call over plain RTP.
package struct PlainSettings: Codable, Equatable, Sendable {
    /// Where its description goes; nil for standard output.
    package var sdp: String?
    package var localPort: UInt16?
}

/// All that a process is told at its start.
package protocol ProcessSettings: Codable, Sendable {
    /// Whether it goes on in the place of one that died.
    var goesOn: Bool { get set }
}

package struct SenderProcessSettings: ProcessSettings, Equatable {
    package var broadcast: String
    /// As the command line has them.
    package var calls: [String]
    package var framesPerSecond = 30
    package var video = VideoSettings()
    package var access = AccessSettings()
    package var talk = TalkSettings()
    package var web = WebCallSettings()
    package var credentials = CallCredentials()
    package var introduction = Introduction()
    package var rendering = RenderingSettings()
    package var plain = PlainSettings()
    package var files = OutputFiles()
    package var conduct = Conduct()
    package var goesOn = false

    package struct OutputFiles: Codable, Equatable, Sendable {
        package var statistics: String?
        package var events: String?
    }

    package struct Conduct: Codable, Equatable, Sendable {
        /// Whether sound is offered before there is any.
        package var offersSound = false
        package var waitsForBroadcast = true
        package var wakesEarly = true
        /// The process group at whose terminal a person can answer.
        package var terminalGroup: Int32?
    }

    /// - Parameter broadcast: its folder.
    package init(of broadcast: String, into calls: [String]) { (self.broadcast, self.calls) = (broadcast, calls) }
}

package struct CaptureProcessSettings: ProcessSettings, Equatable {
    package var broadcast: String
    package var display: String?
    /// The words of a `CaptureSource`.
    package var source = "screen"
    package var framesPerSecond = 30
    package var drawsPointer = true
    package var storage = FrameStorage.file
    /// A file.
    package var statistics: String?
    package var goesOn = false

    /// - Parameter broadcast: its folder.
    package init(of broadcast: String) { self.broadcast = broadcast }
}

package struct SoundProcessSettings: ProcessSettings, Equatable {
    package var broadcast: String
    package var wish = SoundWish()
    /// A file.
    package var events: String?
    package var goesOn = false

    /// - Parameter broadcast: its folder.
    package init(of broadcast: String) { self.broadcast = broadcast }
}
