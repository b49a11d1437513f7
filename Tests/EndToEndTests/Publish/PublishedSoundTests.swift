import TestSupport
import Testing

/// Sound to media servers.
extension Publish {
    @Suite struct PublishedSoundTests {
        @Test func aWHIPServerHearsBothChannels() throws {
            let folder = try TemporaryDirectory()
            let scene = try WHIPScene("--sound", folder.file("heard"))
            let singer = try scene.broadcast.sing("440", "1000")
            let sender = try scene.attach()
            try scene.waitForPicture(sender)
            func heard() -> HeardSound { HeardSound(folder.file("heard")) }
            try wait(until: "the tones are heard: \(heard().purities(of: [440, 1000])) \(sender.errorOutput)") {
                SoundClip.duration(of: folder.file("heard"), channels: 2) > 2 && heard().hears(tones: [440, 1000])
            }
            for process in [sender, singer] { process.stop() }
        }

        /// The room passes the sound on, with both channels.
        @Test func whoIsInARoomOfJanusHearsBothChannels() throws {
            let scene = try JanusScene()
            let singer = try scene.broadcast.sing("440", "1000")
            let sender = try scene.attach()
            let browser = try scene.open("room=1234")
            try scene.waitForPicture(browser, sender)
            try browser.wait(forTones: [440, 1000], in: "sound()", sender.errorOutput)
            for process in [sender, singer] { process.stop() }
        }

        /// A room without sound takes the picture alone.
        @Test func aRoomWithoutSoundTakesThePicture() throws {
            let scene = try JanusScene("publishers = 6, audiocodec = \"pcmu\"")
            let sender = try scene.attach("1234", ["--sound"])
            let browser = try scene.open("room=1234")
            try scene.waitForPicture(browser, sender)
            sender.stop()
        }

        /// By the configuration that Oriel prints.
        @Test func aMountpointOfJanusIsHeard() throws {
            let call = "rtp://\(Network.viewerAddress):5004"
            let printed = try CommandResult([Programs.oriel, "attach", "--print", "janus", "--sound", call])
            #expect(printed.code == 0)
            let scene = try JanusScene(streaming: printed.output)
            let singer = try scene.broadcast.sing("440", "1000")
            let sender = try scene.attach(to: call, ["--sound"])
            let browser = try scene.open("mountpoint=1")
            try scene.waitForPicture(browser, sender)
            try browser.wait(forTones: [440, 1000], in: "sound()", sender.errorOutput)
            for process in [sender, singer] { process.stop() }
        }
    }
}
