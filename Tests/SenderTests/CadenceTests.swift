import TestSupport
import Testing
import Time

@testable import Sender

@Suite struct CadenceTests {
    private let interval = Duration.milliseconds(33)
    /// When the first keyframe goes out.
    private let first = Instant.seconds(1)

    private func cadence(keyframeInterval: Duration? = nil) -> Cadence {
        Cadence(interval: interval, keyframeInterval: keyframeInterval, from: .seconds(0))
    }

    /// One that has sent its first keyframe and whose picture has converged, at the returned instant.
    private func converged(keyframeInterval: Duration? = nil) -> (Cadence, Instant) {
        var cadence = cadence(keyframeInterval: keyframeInterval)
        cadence.noteNewPicture()
        cadence.noteEncoded(at: first, isKeyframe: true, isFine: true)
        return (cadence, first)
    }

    /// However often the picture was encoded before.
    @Test func aCoarseKeyframeOfAStillPictureIsRefinedToo() {
        var (cadence, now) = converged()
        for _ in 0..<3 {
            now += .seconds(5)
            cadence.noteKeyframeRequest()
            cadence.noteEncoded(at: now, isKeyframe: true, isFine: false)
            for _ in 0..<Cadence.refinementLimit {
                now += interval * 2
                #expect(cadence.action(at: now) == .frame)
                cadence.noteEncoded(at: now, isKeyframe: false, isFine: false)
            }
            #expect(cadence.action(at: now + interval * 2) == .nothing)
        }
    }

    @Test func theFirstFrameIsAKeyframe() {
        #expect(cadence().action(at: .seconds(0)) == .keyframe)
    }

    @Test func aCoarsePictureIsRefinedAtTheFrameRateUntilItHasConverged() {
        var cadence = cadence()
        cadence.noteNewPicture()
        cadence.noteEncoded(at: first, isKeyframe: true, isFine: false)
        var now = first + interval
        #expect(cadence.repetition == now)
        #expect(cadence.action(at: now - .nanoseconds(1)) == .nothing)
        #expect(cadence.action(at: now) == .frame)
        cadence.noteEncoded(at: now, isKeyframe: false, isFine: false)
        now += interval
        #expect(cadence.action(at: now - .nanoseconds(1)) == .nothing)
        #expect(cadence.action(at: now) == .frame)
        cadence.noteEncoded(at: now, isKeyframe: false, isFine: true)
        #expect(cadence.action(at: now + interval * 10) == .nothing)
    }

    @Test func aRefinementDoesNotGetInTheWayOfASteadySource() {
        var cadence = cadence()
        var now = first
        for number in 0..<3 {
            cadence.noteNewPicture()
            cadence.noteEncoded(at: now, isKeyframe: number == 0, isFine: false)
            now += interval
        }
        // Half an interval more than the next picture would need, the first time.
        #expect(cadence.repetition == now + interval / 2)
        cadence.noteEncoded(at: now + interval / 2, isKeyframe: false, isFine: false)
        #expect(cadence.repetition == now + interval / 2 + interval)
    }

    @Test func aPictureThatNeverConvergesIsGivenUp() {
        var cadence = cadence()
        cadence.noteNewPicture()
        var now = first
        var frames = 0
        while cadence.action(at: now) != .nothing, frames < 1000 {
            cadence.noteEncoded(at: now, isKeyframe: frames == 0, isFine: false)
            frames += 1
            now += interval * 3 / 2
        }
        #expect(frames == Cadence.refinementLimit + 1)
    }

    /// After much motion the bits of seconds to come are used up.
    @Test func aPictureThatIsNotFineInTimeIsRefinedSlowly() {
        var cadence = Cadence(interval: interval, keyframeInterval: nil, from: .seconds(0))
        var now = first
        for frame in 0...Cadence.refinementLimit {
            now += interval * 3 / 2
            cadence.noteEncoded(at: now, isKeyframe: frame == 0, isFine: false)
        }
        for isFine in [false, false, true] {
            #expect(cadence.action(at: now + Cadence.keepAliveInterval - .nanoseconds(1)) == .nothing)
            now += Cadence.keepAliveInterval
            #expect(cadence.action(at: now) == .frame)
            cadence.noteEncoded(at: now, isKeyframe: false, isFine: isFine)
        }
        #expect(cadence.action(at: now + Cadence.keepAliveInterval) == .keepAlive)
    }

    /// Invariant: idle.
    @Test func aStillPictureIsKeptAlive() {
        let (cadence, now) = converged()
        #expect(cadence.action(at: now + Cadence.keepAliveInterval - .nanoseconds(1)) == .nothing)
        #expect(cadence.action(at: now + Cadence.keepAliveInterval) == .keepAlive)
    }

    @Test func aNewPictureGoesOutAtOnceAfterAQuietTime() {
        var (cadence, now) = converged()
        cadence.noteNewPicture()
        #expect(cadence.action(at: now + interval) == .frame)
    }

    @Test func aSourceThatIsALittleFasterThanTheRateIsFollowedAndHeldToTheRate() {
        var cadence = cadence()
        var frames = 0
        var last: Instant?
        // 1000 pictures at 32 a second.
        for number in 0..<1000 {
            let now = first + .microseconds(31_250) * number
            cadence.noteNewPicture()
            guard cadence.action(at: now) != .nothing else { continue }
            #expect(last.map { now - $0 > interval / 2 } ?? true)
            last = now
            cadence.noteEncoded(at: now, isKeyframe: frames == 0, isFine: false)
            frames += 1
        }
        #expect(Double(frames) <= ((last ?? first) - first) / interval * 33 / 32 + 2)
        #expect(frames > 930)
    }

    @Test func aRequestedKeyframeComesAlsoWhenThePictureStandsStill() {
        var (cadence, now) = converged()
        cadence.noteKeyframeRequest()
        #expect(cadence.action(at: now + interval) == .keyframe)
        cadence.noteEncoded(at: now + interval, isKeyframe: true, isFine: true)
        #expect(cadence.action(at: now + interval * 2) == .nothing)
    }

    @Test func aRequestThatTheEncoderDroppedStands() {
        var (cadence, now) = converged()
        cadence.noteKeyframeRequest()
        cadence.noteEncoded(at: now + interval, isKeyframe: false, isDropped: true, isFine: false)
        #expect(cadence.action(at: now + interval * 2) == .keyframe)
    }

    @Test func aDroppedPictureIsTriedAgain() {
        var (cadence, now) = converged()
        cadence.noteNewPicture()
        cadence.noteEncoded(at: now + interval, isKeyframe: false, isDropped: true, isFine: false)
        #expect(cadence.action(at: now + interval * 2) == .frame)
    }

    /// As long as a picture gets better, it is encoded at the frame rate; what changes meanwhile goes out at once.
    @Test func aNewPictureDoesNotWaitForARefinementBeforeIt() {
        var cadence = cadence()
        cadence.noteNewPicture()
        cadence.noteEncoded(at: first, isKeyframe: true, isFine: false)
        let refinement = first + interval
        cadence.noteEncoded(at: refinement, isKeyframe: false, isFine: false)
        cadence.noteNewPicture()
        #expect(cadence.earliest <= refinement && cadence.action(at: refinement + .nanoseconds(1)) == .frame)
        // Nor for a keyframe that nobody asked for.
        cadence.noteEncoded(at: refinement + .nanoseconds(1), isKeyframe: false, isFine: true)
        cadence.noteEncoded(at: .seconds(6), isKeyframe: true, isFine: true)
        cadence.noteNewPicture()
        #expect(cadence.action(at: .seconds(6) + .nanoseconds(1)) == .frame)
    }

    @Test func whatThereAreNoBitsForIsTriedAgainLater() {
        var cadence = cadence()
        cadence.noteNewPicture()
        cadence.noteEncoded(at: first, isKeyframe: true, isFine: false)
        cadence.postpone(at: first + interval)
        #expect(cadence.action(at: first + interval + .nanoseconds(1)) == .nothing)
        #expect(cadence.repetition == first + interval * 2 && cadence.action(at: first + interval * 2) == .frame)
    }

    /// It is slow to send, and would delay the next one.
    @Test func aKeyframeFollowsAPictureTowardsTheEndOfItsInterval() {
        var (cadence, start) = converged(keyframeInterval: .seconds(5))
        // Seven pictures a second.
        var now = start
        while now < start + .milliseconds(4500) {
            now += .seconds(1) / 7
            cadence.noteNewPicture()
            #expect(cadence.action(at: now) == .frame)
            cadence.noteEncoded(at: now, isKeyframe: false, isFine: true)
            #expect(cadence.action(at: now + .seconds(1) / 8) == .nothing)
        }
        now += .seconds(1) / 7
        cadence.noteNewPicture()
        #expect(cadence.action(at: now) == .frame)
        cadence.noteEncoded(at: now, isKeyframe: false, isFine: true)
        #expect(cadence.repetition <= now + interval / 4 && cadence.action(at: cadence.repetition) == .keyframe)
        // What is new goes first, as soon as the rate allows; until then there is nothing to do.
        cadence.noteNewPicture()
        #expect(cadence.action(at: cadence.repetition - .nanoseconds(1)) == .nothing)
        #expect(cadence.repetition == cadence.earliest && cadence.action(at: cadence.repetition) != .nothing)
    }

    /// There is no pause to wait for.
    @Test func aKeyframeOfFilmComesWithAPicture() {
        var (cadence, start) = converged(keyframeInterval: .seconds(5))
        var now = start
        while now < start + .seconds(5) {
            now += interval
            cadence.noteNewPicture()
            #expect(cadence.action(at: now) == (now < start + .seconds(5) ? .frame : .keyframe))
            cadence.noteEncoded(at: now, isKeyframe: now >= start + .seconds(5), isFine: false)
            #expect(cadence.repetition > now + interval || now + interval * 2 >= start + .seconds(5))
        }
    }

    @Test func keyframesComeAtTheirInterval() {
        let (cadence, now) = converged(keyframeInterval: .seconds(5))
        #expect(cadence.action(at: now + .seconds(5) - .nanoseconds(1)) == .keepAlive)
        var other = cadence
        other.noteEncoded(at: now + .seconds(4), isKeyframe: false, isFine: true)
        #expect(other.repetition == now + .seconds(5))
        #expect(cadence.action(at: now + .seconds(5)) == .keyframe)
    }
}
