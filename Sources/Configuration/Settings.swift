package import FrameBridge
package import HTTP
package import Media
package import Nearby
package import Pixels

// Settings of processes. Options begin with these defaults. A name has no acronym after its first letter
// (`Encodable.jsonLine`).

/// The viewers that are let into a call.
package enum AcceptPolicy: String, Codable, CaseIterable, Sendable {
    case all
    /// Viewers that a person accepts.
    case ask
    /// Known viewers, and others that a person accepts.
    case known
}

package enum CodecChoice: String, Codable, CaseIterable, Sendable {
    case auto, vp8, vp9, av1

    /// The codecs in groups. A viewer gets, of each group, the first codec that it supports.
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
    /// The most encodes of one codec.
    package var renditions = 2
    /// Seconds; 0 for none, nil for the call's default.
    package var keyframeInterval: Double?
    package var vp8Profile = 0
    package var patches = true
    package var legibility = Legibility.off

    package init() {}
}

/// A source that viewers may choose.
package struct NamedSource: Codable, Equatable, Sendable {
    package let name: String
    /// A `CaptureSource` in the words of the command line.
    package let words: String

    package init(name: String, words: String) { (self.name, self.words) = (name, words) }
}

/// What commands of viewers may do on this desktop.
package struct DesktopSettings: Codable, Equatable, Sendable {
    /// Nil for the one that DISPLAY names.
    package var display: String?
    package var sources: [NamedSource] = []
    /// Runs for messages; nil for none.
    package var program: String?
    package var statusFrame = StatusFrame.off
    /// The name of a sound that is played when somebody asks to look in; nil for none.
    package var knockChime: String?
    /// Runs then; nil for none.
    package var knockProgram: String?
    package var knockSeconds = 10

    package init() {}
}

package struct AccessSettings: Codable, Equatable, Sendable {
    package var accept = AcceptPolicy.all
    /// Seconds.
    package var answerTimeout = 30
    /// Whether viewers may begin clips and replays, and change what makes a clip.
    package var viewersRecord = false
    /// Whether viewers may change what all see.
    package var viewersControl = false
    /// Whether viewers see the names of all.
    package var showsPeople = false
    /// Seconds after which viewers have to go, unless they ask for more time; nil for no end.
    package var lease: Int?

    package init() {}
}

package struct TalkSettings: Codable, Equatable, Sendable {
    package var talkback = TalkPolicy.off
    /// Voices heard at once.
    package var talkers = 1

    package init() {}
}

/// A web server's address and certificate.
package struct ServerSettings: Codable, Equatable, Sendable {
    package var listen = ListenAddress(host: nil, port: 8080)
    package var certificate: String?
    package var key: String?
    /// Whether it uses a certificate made by this machine.
    package var makesCertificate = false
    package var proxies: [AddressRange] = []

    package init() {}
}

package struct ICEServerSettings: Codable, Equatable, Sendable {
    package var stun: STUNServer?
    package var turn: [TURNServer] = []
    /// The secret shared with the TURN servers.
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

/// The credentials of this side for calls on other servers.
package struct CallCredentials: Codable, Equatable, Sendable {
    package var whipToken: Secret?
    package var pushToken: Secret?
    package var janusSecret: Secret?
    package var janusToken: Secret?
    package var janusPin: Secret?

    package init() {}
}

/// This side's words for the other participant of a room.
package struct Introduction: Codable, Equatable, Sendable {
    package var name = ""
    package var note = ""
}

package struct RenderingSettings: Codable, Equatable, Sendable {
    /// A file, `window` or `-`; nil if pictures of others are not shown.
    package var render: String?
    package var preview = false
}

package struct PlainSettings: Codable, Equatable, Sendable {
    /// The file for its description; nil for standard output.
    package var sdp: String?
    package var localPort: UInt16?
}

package protocol ProcessSettings: Codable, Sendable {
    /// Whether it continues the work of one that died.
    var goesOn: Bool { get set }
}

package struct SenderProcessSettings: ProcessSettings, Equatable {
    package var broadcast: String
    /// In the words of the command line.
    package var calls: [String]
    package var framesPerSecond = 30
    package var video = VideoSettings()
    package var access = AccessSettings()
    package var talk = TalkSettings()
    package var desktop = DesktopSettings()
    package var web = WebCallSettings()
    package var credentials = CallCredentials()
    package var introduction = Introduction()
    package var rendering = RenderingSettings()
    package var plain = PlainSettings()
    package var push = PushSettings()
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
        /// The process group on whose terminal a person can answer.
        package var terminalGroup: Int32?
    }

    /// - Parameter broadcast: its folder.
    package init(of broadcast: String, into calls: [String]) { (self.broadcast, self.calls) = (broadcast, calls) }
}

package struct CaptureProcessSettings: ProcessSettings, Equatable {
    package var broadcast: String
    package var display: String?
    /// A `CaptureSource` in the words of the command line.
    package var source = "screen"
    package var framesPerSecond = 30
    package var drawsPointer = true
    package var storage = FrameStorage.file
    package var statistics: String?
    package var goesOn = false

    /// - Parameter broadcast: its folder.
    package init(of broadcast: String) { self.broadcast = broadcast }
}

package struct SoundProcessSettings: ProcessSettings, Equatable {
    package var broadcast: String
    package var wish = SoundWish()
    package var events: String?
    package var goesOn = false

    /// - Parameter broadcast: its folder.
    package init(of broadcast: String) { self.broadcast = broadcast }
}

package struct NearbyProcessSettings: ProcessSettings, Equatable {
    package var visibility = Neighbourhood.Visibility.off
    /// The folder for files that come; nil to take none.
    package var inbox: String?
    /// Whether it is part of `oriel share`, and stays without commands.
    package var isLasting = false
    package var goesOn = false

    package init() {}
}

package struct RecorderProcessSettings: ProcessSettings, Equatable {
    package var broadcast: String
    /// Of the broadcast, for the names of files.
    package var name: String
    package var folder: String
    /// The name of the first file, without the ending; nil for names by the date.
    package var base: String?
    /// Seconds after which a file ends; nil for no limit.
    package var segmentSeconds: Int?
    /// Bytes after which a file ends; nil for no limit.
    package var segmentBytes: UInt64?
    /// Recordings that are older go; nil keeps them.
    package var keptSeconds: Int?
    /// The oldest ones go beyond so many bytes of all; nil for no limit.
    package var keptBytes: UInt64?
    /// Bytes of the disk that stay free.
    package var reservedBytes: UInt64 = 0
    /// Of a sender for this recorder alone; nil if that of others will do.
    package var video: VideoSettings?
    /// Nil if everything is recorded.
    package var clips: ClipSettings?
    /// Seconds that are kept in memory for a replay; nil for none.
    package var replaySeconds: Int?
    package var events: String?
    /// Runs with the files of each clip; nil for none.
    package var program: String?
    /// Whether viewers may command it, by a sender.
    package var takesViewers = false
    /// Whether it is part of `oriel share`: it prints no paths, and starts no sender but one that `video` needs.
    package var isSupervised = false
    package var goesOn = false

    /// - Parameters:
    ///   - broadcast: its folder.
    ///   - folder: that of the files.
    package init(of broadcast: String, name: String, into folder: String) {
        (self.broadcast, self.name, self.folder) = (broadcast, name, folder)
    }
}

/// Of the process that connects a recorder to senders.
package struct FeedConnectorSettings: Codable, Sendable {
    package let broadcast: String
    /// Of a sender for the recorder alone; nil if that of others will do.
    package let video: VideoSettings?
    /// Of the recordings.
    package let folder: String
    /// Runs with the files of each clip; nil for none.
    package let program: String?
    /// Whether it waits for a sender as long as it takes.
    package let isSupervised: Bool

    package init(for recorder: RecorderProcessSettings) {
        (broadcast, video) = (recorder.broadcast, recorder.video)
        (folder, program, isSupervised) = (recorder.folder, recorder.program, recorder.isSupervised)
    }
}
