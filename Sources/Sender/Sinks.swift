package import Media
package import Pixels
package import Posix
import Synchronization
package import Time

/// The sinks of a sender. They come and leave while it runs. Any thread may use this.
package final class Sinks: Sendable {
    /// Rung when a demand has changed, or a sink came or left.
    package let bell = Bell()
    package let target: TargetBitrate
    package let view: SharedView
    private let report: @Sendable (String) -> Void
    private let state = Mutex(State())

    private struct State {
        var members: [any MediaSink] = []
        /// The last preferences, by rungs, for later sinks.
        var preferred: [Int: Rendition] = [:]
        /// When the last frame of each rendition was given.
        var sentAt: [Rendition.ID: Instant] = [:]
    }

    /// - Parameters:
    ///   - target: of all encoders.
    ///   - report: gets a sentence about a broken sink.
    package init(
        target: TargetBitrate,
        view: SharedView = SharedView(),
        report: @escaping @Sendable (String) -> Void
    ) {
        (self.target, self.view, self.report) = (target, view, report)
    }

    /// Changes the target of the encoders, in bits a second, and wakes them.
    package func setTarget(_ bitsPerSecond: Int) {
        target.set(bitsPerSecond)
        bell.ring()
    }

    /// Shows a part of the screen to all, or the whole, from the next frame on.
    package func show(_ part: PixelRect?) {
        view.set(part)
        bell.ring()
    }

    /// Brightens dark pictures for all, or not, from the next frame on.
    package func set(_ legibility: Legibility) {
        view.set(legibility)
        bell.ring()
    }

    /// The bitrate of rate control for a demand, in bits a second: the target within the demand's limit.
    func bitrate(for demand: Demand) -> Int {
        let target = target.bitsPerSecond
        return min(target, demand.limit ?? target)
    }

    package func add(_ sink: any MediaSink) {
        sink.setWaker { [bell] in bell.ring() }
        let preferred = state.withLock { state in
            state.members.append(sink)
            return state.preferred
        }
        for rendition in preferred.values { sink.prefer(rendition) }
        bell.ring()
    }

    /// Removes a sink. It may still get a frame that is being given to it.
    ///
    /// - Returns: whether it was there.
    @discardableResult
    package func remove(_ sink: any MediaSink) -> Bool {
        let wasThere = state.withLock { state in
            let count = state.members.count
            state.members.removeAll { $0 === sink }
            return state.members.count < count
        }
        bell.ring()
        return wasThere
    }

    /// How long those that follow wait for others whose links take nothing. A page takes seconds on a thin one.
    private static let followTime = Duration.seconds(5)

    /// The demand of all sinks for a rendition. They are full as long as all sinks that want it are. The rates are
    /// those of the fastest sink.
    package func demand(for rendition: Rendition.ID, at now: Instant) -> Demand {
        var (leading, following) = (Demand.none, Demand.none)
        for sink in all {
            let demand = sink.demand(for: rendition, at: now)
            guard demand.isWanted else { continue }
            if demand.follows { following.join(demand) } else { leading.join(demand) }
        }
        guard leading.isWanted, following.isWanted else { return leading.isWanted ? leading : following }
        let sentAt = state.withLock { $0.sentAt[rendition] ?? .start }
        leading.isFullUntil = leading.isFullUntil.map { min($0, sentAt + Self.followTime) }
        leading.joinNeeds(following, fullUntil: leading.isFullUntil)
        return leading
    }

    /// Whether one of some sinks wants a rendition now.
    package func isWanted(_ rendition: Rendition.ID, by isMeant: (any MediaSink) -> Bool) -> Bool {
        let now: Instant = MonotonicClock.now()
        return all.contains { isMeant($0) && $0.demand(for: rendition, at: now).isWanted }
    }

    /// Lends a frame to each sink in turn, without a copy. A sink must not wait here: a slow one needs a queue and a
    /// thread of its own.
    func send(_ bytes: Span<UInt8>, _ frame: EncodedFrame, at now: Instant) {
        state.withLock { $0.sentAt[frame.rendition] = now }
        for sink in all where sink.demand(for: frame.rendition, at: now).isWanted {
            // A sink that throws in several renditions is reported once.
            do { try sink.send(bytes, frame) } catch { if remove(sink) { report("\(error)") } }
        }
    }

    /// The demand of all sinks for the broadcast's sound. There is one encode, so the slowest link decides on its
    /// bitrate: broken sound is of no use.
    package func soundDemand(at now: Instant) -> SoundDemand {
        var sum = SoundDemand.none
        for sink in all {
            let demand = sink.soundDemand(at: now)
            guard demand.isWanted else { continue }
            sum.isWanted = true
            sum.bitrate = [sum.bitrate, demand.bitrate].compactMap(\.self).min()
            sum.lossRatio = max(sum.lossRatio, demand.lossRatio)
            sum.isKeptAlive = sum.isKeptAlive || demand.isKeptAlive
        }
        return sum
    }

    func send(sound packet: Span<UInt8>, _ sound: EncodedSound, at now: Instant) {
        for sink in all where sink.soundDemand(at: now).isWanted {
            do { try sink.send(sound: packet, sound) } catch { if remove(sink) { report("\(error)") } }
        }
    }

    func prefer(_ rendition: Rendition) {
        state.withLock { $0.preferred[rendition.rung] = rendition }
        for sink in all { sink.prefer(rendition) }
    }

    private var all: [any MediaSink] { state.withLock { $0.members } }
}

extension Demand {
    /// Adds the demand of another sink that wants the rendition.
    fileprivate mutating func join(_ other: Demand) {
        /// Nil as soon as one is.
        func join<Value>(_ one: Value?, _ other: Value?, _ choose: (Value, Value) -> Value) -> Value? {
            isWanted ? one.flatMap { one in other.map { choose(one, $0) } } : other
        }
        isFullUntil = join(isFullUntil, other.isFullUntil, min)
        linkRate = join(linkRate, other.linkRate, max)
        limit = join(limit, other.limit, max)
        measuresLink = other.measuresLink && (!isWanted || measuresLink)
        isWanted = true
        joinNeeds(other, fullUntil: other.isFullUntil)
    }

    /// Adds what another sink needs of the frames, whatever its link carries.
    ///
    /// - Parameter fullUntil: when it can take the keyframe that it demands; nil for at once.
    fileprivate mutating func joinNeeds(_ other: Demand, fullUntil: Instant?) {
        keepsSize = keepsSize || other.keepsSize
        keyframeInterval = [keyframeInterval, other.keyframeInterval].compactMap(\.self).min()
        if let keyframeAt = other.keyframeAt {
            self.keyframeAt = earliest(self.keyframeAt, max(keyframeAt, fullUntil ?? keyframeAt))
        }
    }
}
