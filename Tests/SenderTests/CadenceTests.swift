import Testing

@testable import Sender

@Suite struct CadenceTests {
    private let interval: UInt64 = 33_000_000
    private let second: UInt64 = 1_000_000_000

    private func cadence(keyframeInterval: UInt64? = nil) -> Cadence {
        Cadence(interval: interval, keyframeInterval: keyframeInterval, convergedQuantizer: 12)
    }

    /// One that has sent its first keyframe and whose picture has converged, at the returned instant.
    private func converged(keyframeInterval: UInt64? = nil) -> (Cadence, UInt64) {
        var cadence = cadence(keyframeInterval: keyframeInterval)
        cadence.noteNewPicture()
        cadence.noteEncoded(at: second, isKeyframe: true, quantizer: 10)
        return (cadence, second)
    }

    @Test func theFirstFrameIsAKeyframe() {
        #expect(cadence().action(at: 0) == .keyframe)
    }

    @Test func aCoarsePictureIsRefinedAtTheFrameRateUntilItHasConverged() {
        var cadence = cadence()
        cadence.noteNewPicture()
        cadence.noteEncoded(at: second, isKeyframe: true, quantizer: 40)
        #expect(cadence.action(at: second + interval - 1) == .nothing)
        #expect(cadence.action(at: second + interval) == .frame)
        cadence.noteEncoded(at: second + interval, isKeyframe: false, quantizer: 12)
        #expect(cadence.action(at: second + 10 * interval) == .nothing)
    }

    @Test func aPictureThatNeverConvergesIsGivenUp() {
        var cadence = cadence()
        cadence.noteNewPicture()
        var now = second
        var frames = 0
        while cadence.action(at: now) != .nothing, frames < 1000 {
            cadence.noteEncoded(at: now, isKeyframe: frames == 0, quantizer: 50)
            frames += 1
            now += interval
        }
        #expect(frames == Cadence.refinementLimit + 1)
    }

    @Test func aStillPictureIsKeptAlive() {
        let (cadence, now) = converged()
        #expect(cadence.action(at: now + Cadence.keepAliveInterval - 1) == .nothing)
        #expect(cadence.action(at: now + Cadence.keepAliveInterval) == .frame)
    }

    @Test func aNewPictureGoesOutAtOnceAfterAQuietTime() {
        var (cadence, now) = converged()
        cadence.noteNewPicture()
        #expect(cadence.action(at: now + interval) == .frame)
        #expect(cadence.earliest == now + interval)
    }

    @Test func aRequestedKeyframeComesAlsoWhenThePictureStandsStill() {
        var (cadence, now) = converged()
        cadence.noteKeyframeRequest()
        #expect(cadence.action(at: now + interval) == .keyframe)
        cadence.noteEncoded(at: now + interval, isKeyframe: true, quantizer: 10)
        #expect(cadence.action(at: now + 2 * interval) == .nothing)
    }

    @Test func aRequestThatTheEncoderDroppedStands() {
        var (cadence, now) = converged()
        cadence.noteKeyframeRequest()
        cadence.noteEncoded(at: now + interval, isKeyframe: false, quantizer: nil)
        #expect(cadence.action(at: now + 2 * interval) == .keyframe)
    }

    @Test func aDroppedPictureIsTriedAgain() {
        var (cadence, now) = converged()
        cadence.noteNewPicture()
        cadence.noteEncoded(at: now + interval, isKeyframe: false, quantizer: nil)
        #expect(cadence.action(at: now + 2 * interval) == .frame)
    }

    @Test func keyframesComeAtTheirInterval() {
        let (cadence, now) = converged(keyframeInterval: 5 * second)
        #expect(cadence.action(at: now + 5 * second - 1) == .frame)
        #expect(cadence.action(at: now + 5 * second) == .keyframe)
    }
}
