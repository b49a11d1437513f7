import Testing

@testable import Sender

@Suite struct CadenceTests {
    private let interval: UInt64 = 33_000_000
    private let second: UInt64 = 1_000_000_000

    private func cadence(keyframeInterval: UInt64? = nil) -> Cadence {
        Cadence(interval: interval, keyframeInterval: keyframeInterval)
    }

    /// One that has sent its first keyframe and whose picture has converged, at the returned instant.
    private func converged(keyframeInterval: UInt64? = nil) -> (Cadence, UInt64) {
        var cadence = cadence(keyframeInterval: keyframeInterval)
        cadence.noteNewPicture()
        cadence.noteEncoded(at: second, isKeyframe: true, isFine: true)
        return (cadence, second)
    }

    /// However often the picture was encoded before.
    @Test func aCoarseKeyframeOfAStillPictureIsRefinedToo() {
        var (cadence, now) = converged()
        for _ in 0..<3 {
            now += 5 * second
            cadence.noteKeyframeRequest()
            cadence.noteEncoded(at: now, isKeyframe: true, isFine: false)
            for _ in 0..<Cadence.refinementLimit {
                now += 2 * interval
                #expect(cadence.action(at: now) == .frame)
                cadence.noteEncoded(at: now, isKeyframe: false, isFine: false)
            }
            #expect(cadence.action(at: now + 2 * interval) == .nothing)
        }
    }

    @Test func theFirstFrameIsAKeyframe() {
        #expect(cadence().action(at: 0) == .keyframe)
    }

    @Test func aCoarsePictureIsRefinedAtTheFrameRateUntilItHasConverged() {
        var cadence = cadence()
        cadence.noteNewPicture()
        cadence.noteEncoded(at: second, isKeyframe: true, isFine: false)
        var now = second + interval
        #expect(cadence.repetition == now)
        #expect(cadence.action(at: now - 1) == .nothing)
        #expect(cadence.action(at: now) == .frame)
        cadence.noteEncoded(at: now, isKeyframe: false, isFine: false)
        now += interval
        #expect(cadence.action(at: now - 1) == .nothing)
        #expect(cadence.action(at: now) == .frame)
        cadence.noteEncoded(at: now, isKeyframe: false, isFine: true)
        #expect(cadence.action(at: now + 10 * interval) == .nothing)
    }

    @Test func aRefinementDoesNotGetInTheWayOfASteadySource() {
        var cadence = cadence()
        var now = second
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
        var now = second
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
        var cadence = Cadence(interval: interval, keyframeInterval: nil)
        var now = second
        for frame in 0...Cadence.refinementLimit {
            now += interval * 3 / 2
            cadence.noteEncoded(at: now, isKeyframe: frame == 0, isFine: false)
        }
        for isFine in [false, false, true] {
            #expect(cadence.action(at: now + Cadence.keepAliveInterval - 1) == .nothing)
            now += Cadence.keepAliveInterval
            #expect(cadence.action(at: now) == .frame)
            cadence.noteEncoded(at: now, isKeyframe: false, isFine: isFine)
        }
        #expect(cadence.action(at: now + Cadence.keepAliveInterval) == .keepAlive)
    }

    @Test func aStillPictureIsKeptAlive() {
        let (cadence, now) = converged()
        #expect(cadence.action(at: now + Cadence.keepAliveInterval - 1) == .nothing)
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
        var last: UInt64 = 0
        // 1000 pictures at 32 a second.
        for number in 0..<1000 as Range<UInt64> {
            let now = second + number * 31_250_000
            cadence.noteNewPicture()
            guard cadence.action(at: now) != .nothing else { continue }
            #expect(last == 0 || now - last > interval / 2)
            last = now
            cadence.noteEncoded(at: now, isKeyframe: frames == 0, isFine: false)
            frames += 1
        }
        #expect(Double(frames) <= Double(last - second) / Double(interval) * 33 / 32 + 2)
        #expect(frames > 930)
    }

    @Test func aRequestedKeyframeComesAlsoWhenThePictureStandsStill() {
        var (cadence, now) = converged()
        cadence.noteKeyframeRequest()
        #expect(cadence.action(at: now + interval) == .keyframe)
        cadence.noteEncoded(at: now + interval, isKeyframe: true, isFine: true)
        #expect(cadence.action(at: now + 2 * interval) == .nothing)
    }

    @Test func aRequestThatTheEncoderDroppedStands() {
        var (cadence, now) = converged()
        cadence.noteKeyframeRequest()
        cadence.noteEncoded(at: now + interval, isKeyframe: false, isDropped: true, isFine: false)
        #expect(cadence.action(at: now + 2 * interval) == .keyframe)
    }

    @Test func aDroppedPictureIsTriedAgain() {
        var (cadence, now) = converged()
        cadence.noteNewPicture()
        cadence.noteEncoded(at: now + interval, isKeyframe: false, isDropped: true, isFine: false)
        #expect(cadence.action(at: now + 2 * interval) == .frame)
    }

    /// As long as a picture gets better, it is encoded at the frame rate; what changes meanwhile goes out at once.
    @Test func aNewPictureDoesNotWaitForARefinementBeforeIt() {
        var cadence = cadence()
        cadence.noteNewPicture()
        cadence.noteEncoded(at: second, isKeyframe: true, isFine: false)
        let refinement = second + interval
        cadence.noteEncoded(at: refinement, isKeyframe: false, isFine: false)
        cadence.noteNewPicture()
        #expect(cadence.earliest <= refinement && cadence.action(at: refinement + 1) == .frame)
        // Nor for a keyframe that nobody asked for.
        cadence.noteEncoded(at: refinement + 1, isKeyframe: false, isFine: true)
        cadence.noteEncoded(at: 6 * second, isKeyframe: true, isFine: true)
        cadence.noteNewPicture()
        #expect(cadence.action(at: 6 * second + 1) == .frame)
    }

    @Test func whatThereAreNoBitsForIsTriedAgainLater() {
        var cadence = cadence()
        cadence.noteNewPicture()
        cadence.noteEncoded(at: second, isKeyframe: true, isFine: false)
        cadence.postpone(at: second + interval)
        #expect(cadence.action(at: second + interval + 1) == .nothing)
        #expect(cadence.repetition == second + 2 * interval && cadence.action(at: second + 2 * interval) == .frame)
    }

    /// It is slow to send, and would delay the next one.
    @Test func aKeyframeFollowsAPictureTowardsTheEndOfItsInterval() {
        var (cadence, start) = converged(keyframeInterval: 5 * second)
        // Seven pictures a second.
        var now = start
        while now < start + 4 * second + second / 2 {
            now += second / 7
            cadence.noteNewPicture()
            #expect(cadence.action(at: now) == .frame)
            cadence.noteEncoded(at: now, isKeyframe: false, isFine: true)
            #expect(cadence.action(at: now + second / 8) == .nothing)
        }
        now += second / 7
        cadence.noteNewPicture()
        #expect(cadence.action(at: now) == .frame)
        cadence.noteEncoded(at: now, isKeyframe: false, isFine: true)
        #expect(cadence.repetition <= now + interval / 4 && cadence.action(at: cadence.repetition) == .keyframe)
        // What is new goes first, as soon as the rate allows; until then there is nothing to do.
        cadence.noteNewPicture()
        #expect(cadence.action(at: cadence.repetition - 1) == .nothing)
        #expect(cadence.repetition == cadence.earliest && cadence.action(at: cadence.repetition) != .nothing)
    }

    /// There is no pause to wait for.
    @Test func aKeyframeOfFilmComesWithAPicture() {
        var (cadence, start) = converged(keyframeInterval: 5 * second)
        var now = start
        while now < start + 5 * second {
            now += interval
            cadence.noteNewPicture()
            #expect(cadence.action(at: now) == (now < start + 5 * second ? .frame : .keyframe))
            cadence.noteEncoded(at: now, isKeyframe: now >= start + 5 * second, isFine: false)
            #expect(cadence.repetition > now + interval || now + 2 * interval >= start + 5 * second)
        }
    }

    @Test func keyframesComeAtTheirInterval() {
        let (cadence, now) = converged(keyframeInterval: 5 * second)
        #expect(cadence.action(at: now + 5 * second - 1) == .keepAlive)
        var other = cadence
        other.noteEncoded(at: now + 4 * second, isKeyframe: false, isFine: true)
        #expect(other.repetition == now + 5 * second)
        #expect(cadence.action(at: now + 5 * second) == .keyframe)
    }
}
