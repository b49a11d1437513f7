import TestSupport
import Testing
import Time

@testable import Sender

@Suite struct VerificationTests {
    private let start = Instant.seconds(100)

    @Test func aRightPictureIsComparedOnce() {
        var verification = Verification()
        #expect(verification.isDue(at: start))
        let repairs = verification.note(isRight: true, at: start)
        #expect(!repairs && !verification.isRepairing && !verification.isDue(at: start + .seconds(1000)))
    }

    @Test func wrongMacroblocksAreRepairedTwiceAndComparedAtOnce() {
        var verification = Verification()
        for repairs in [true, true, false] {
            #expect(verification.isDue(at: start))
            let result = verification.note(isRight: false, at: start)
            #expect(result == repairs && verification.isRepairing == repairs)
        }
        #expect(!verification.isDue(at: start + .seconds(1000)))
    }

    @Test func aNewPictureWaitsTwoSecondsFromTheLastComparison() {
        var verification = Verification()
        _ = verification.note(isRight: false, at: start)
        verification.noteNewPicture()
        #expect(!verification.isRepairing)
        #expect(!verification.isDue(at: start + .milliseconds(1999)))
        #expect(verification.isDue(at: start + .seconds(2)))
        let repairs = verification.note(isRight: false, at: start + .seconds(2))
        #expect(repairs)
    }
}
