import Testing

@testable import Sound

@Suite struct EchoCancellerTests {
    @Test(arguments: ["mic.echo-cancel", "mic.echo-cancel.2"]) func aCancellerOfTheMicrophoneIsAccepted(name: String) {
        #expect(name.isEchoCanceller(of: "mic"))
    }

    @Test(arguments: ["other.echo-cancel", "echo-cancel", "mic2.echo-cancel", "mic.echo-cancel.x"])
    func anotherSourceIsRefused(name: String) { #expect(!name.isEchoCanceller(of: "mic")) }
}
