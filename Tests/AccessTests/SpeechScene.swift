import Media
import TestSupport
import Testing
import Time

@testable import Access

/// Peers that send, by the level that they tell, in decibels below the loudest.
struct SpeechScene {
    enum Event: Equatable {
        case asked(ParticipantID)
        case granted(ParticipantID)
        case revoked(ParticipantID)
        case started(ParticipantID, isNews: Bool)
        case ended(ParticipantID)
    }

    static let start = Instant.seconds(1000)
    static let peers = (1...6).map { ParticipantID($0) }

    var access: AccessEngine
    var now = Self.start

    /// With six peers.
    init(_ policy: TalkPolicy, places: Int = 1) {
        var settings = AccessEngine.Settings()
        (settings.talk, settings.speakers) = (policy, places)
        access = AccessEngine(settings)
        for peer in Self.peers { access.begin(peer) }
    }

    /// What each peer says for a while, a packet of each in 20 ms. What is heard and loud is noted, as of the thread that plays it.
    ///
    /// - Returns: who was heard in the last packet.
    mutating func say(_ levels: [ParticipantID: UInt8?], for time: Duration) -> Set<ParticipantID> {
        var heard: Set<ParticipantID> = []
        let end = now + time
        while now < end {
            now += .milliseconds(20)
            heard.removeAll()
            for (peer, level) in levels.sorted(by: { $0.key < $1.key }) {
                guard access.hears(peer, level: level, isQuiet: false, at: now) else { continue }
                heard.insert(peer)
                if level ?? 20 < 50 { access.noteLoud(peer, at: now) }
            }
            access.tick(now: now)
        }
        return heard
    }

    mutating func pass(_ time: Duration) {
        let end = now + time
        while let deadline = access.nextDeadline, deadline <= end {
            now = max(now, deadline)
            access.tick(now: now)
        }
        now = end
    }

    mutating func takeEvents() -> [Event] {
        access.takeOutputs().compactMap { output in
            guard case .tell(.talk(let peer, let talk)) = output else { return nil }
            return switch talk {
            case .asked: .asked(peer)
            case .granted: .granted(peer)
            case .revoked: .revoked(peer)
            case .started(let isNews): .started(peer, isNews: isNews)
            case .ended: .ended(peer)
            }
        }
    }
}

/// `#expect` for calls that change a value, which the macro cannot take.
func expect(_ condition: Bool, location: SourceLocation = #_sourceLocation) {
    #expect(condition, sourceLocation: location)
}
