import Glibc
import Posix
import TestSupport
import Testing

extension Command {
    /// Installed sounds, played to the person who shares.
    @Suite struct ChimeCommandTests {
        private let data: TemporaryDirectory

        /// Two sounds of three seconds.
        init() throws {
            data = try TemporaryDirectory(of: .shared)
            mkdir(data.file("sounds"), 0o755)
            for (name, frequency) in [("bell.wav", 1000), ("gong.oga", 500)] {
                let tone = "sine=frequency=\(frequency):duration=3"
                let path = data.file("sounds/\(name)")
                let codec = name.hasSuffix("oga") ? ["-c:a", "libvorbis"] : []
                try Subprocess.run(
                    ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", tone, "-af", "volume=2"] + codec + [path]
                )
                chmod(path, 0o644)
            }
        }

        private func attach(_ scene: SoundScene, at port: UInt16? = nil, _ arguments: String...) throws -> Subprocess {
            let listen = ["--listen", "127.0.0.1:\(try port ?? Ports.free())"]
            let sender = try Subprocess(
                [scene.broadcast.oriel, "attach", "web", "--dir", scene.broadcast.directory] + listen + arguments,
                environment: [
                    "ORIEL_TOKEN": WebBroadcast.token, "DISPLAY": scene.screen.display, "XDG_DATA_HOME": data.path,
                    "XDG_DATA_DIRS": "/nowhere",
                ]
            )
            try sender.wait(until: "the sender serves") { sender.outputLines.contains { $0.hasPrefix("http") } }
            return sender
        }

        private func level(of frequency: Double, in recording: SoundRecording) throws -> Double {
            let start = recording.duration
            let sound = try recording.sound(lasting: .seconds(start + 0.3)).part(start + 0.2..<start + 0.3)
            return SoundAnalysis.level(of: frequency, in: sound.channel())
        }

        /// By the sound process, though no sound is shared.
        @Test func aChimeIsHeard() throws {
            let scene = try SoundScene("--sound", "none", environment: ["XDG_DATA_HOME": data.path])
            let sender = try attach(scene)
            #expect(try scene.broadcast.run("chime", "list").output == "1  bell\n2  gong\n")
            #expect(try scene.list("sink-inputs").isEmpty, "nothing is played")
            let recording = try scene.sound.record("speakers.monitor", channels: 2)
            for (number, frequency) in [(1, 1000.0), (2, 500)] {
                #expect(try scene.broadcast.run("chime", "play", "\(number)").code == 0)
                try wait(until: "\(frequency) Hz are heard") { try level(of: frequency, in: recording) > -30 }
            }
            #expect(try scene.broadcast.run("chime", "select", "2").code == 0)
            #expect(try scene.broadcast.run("chime", "list").output == "1  bell\n2  gong  for knocks\n")
            #expect(try scene.broadcast.run("chime", "select", "bell").code == 0)
            #expect(try scene.broadcast.run("chime", "list").output == "1  bell  for knocks\n2  gong\n")
            #expect(try scene.broadcast.run("chime", "play", "gong").code == 0)
            let unknown = try scene.broadcast.run("chime", "play", "horn")
            #expect(
                unknown.code == 1
                    && unknown.errorOutput == "oriel: there is no sound \"horn\": see \"oriel chime list\"\n",
                "\(unknown)"
            )
            let refused = try scene.broadcast.run("chime", "play", "3")
            #expect(
                refused.code == 1 && refused.errorOutput == "oriel: there is no sound 3: see the list\n",
                "\(refused)"
            )
            for words in [
                ["play", "0"], ["play", "256"], ["play"], ["list", "1"], ["select", "-1"], ["stop", "1"],
            ] {
                #expect(try scene.broadcast.run(["chime"] + words).code == 64, "\(words)")
            }
            sender.stop()
        }

        /// A sound, and a program for as long as it may run.
        @Test func aKnockIsHeard() throws {
            let (told, program) = (data.file("told"), data.file("program"))
            try FileDescriptor.open(told, O_WRONLY | O_CREAT).write("")
            let script = "#!/bin/sh\necho \"$@\" >> \(told)\nsleep 3\necho late >> \(told)\n"
            try FileDescriptor.open(program, O_WRONLY | O_CREAT).write(script)
            chmod(program, 0o755)
            chmod(told, 0o666)
            let scene = try SoundScene("--sound", "none", environment: ["XDG_DATA_HOME": data.path])
            let port = try Ports.free()
            let sender = try attach(
                scene,
                at: port,
                "--accept",
                "ask",
                "--knock-chime",
                "bell",
                "--on-knock",
                program,
                "--knock-time",
                "1"
            )
            let recording = try scene.sound.record("speakers.monitor", channels: 2)
            let offer = [
                "v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=group:BUNDLE 0", "m=video 9 UDP/TLS/RTP/SAVPF 96",
                "c=IN IP4 0.0.0.0", "a=mid:0", "a=recvonly", "a=rtcp-mux", "a=ice-ufrag:abcd",
                "a=ice-pwd:0123456789abcdefghijkl",
                "a=fingerprint:sha-256 " + [String](repeating: "AB", count: 32).joined(separator: ":"),
                "a=setup:active",
                "a=rtpmap:96 VP8/90000", "a=rtcp-fb:96 nack", "a=rtcp-fb:96 nack pli", "",
            ].joined(separator: "\r\n")
            let knock = try Subprocess([
                "curl", "-s", "-m", "300", "-X", "POST", "-H", "Authorization: Bearer \(WebBroadcast.token)", "-H",
                "Content-Type: application/sdp", "-H", "Oriel-Name: Ann", "--data-binary", offer,
                "http://127.0.0.1:\(port)/whep",
            ])
            try wait(until: "it is heard: \(sender.errorOutput)") { try level(of: 1000, in: recording) > -30 }
            try wait(until: "the program runs") { try contents(of: told) == Array("knock name=Ann\n".utf8) }
            // It would have written by then.
            usleep(4_000_000)
            #expect(try contents(of: told) == Array("knock name=Ann\n".utf8))
            knock.stop()
            sender.stop()
        }

        /// The sound process has nothing to play it by.
        @Test func aChimeWithoutASoundServerIsRefused() throws {
            let scene = try SoundScene(
                "--sound",
                "none",
                environment: ["XDG_DATA_HOME": data.path, "PULSE_SERVER": "unix:/nowhere"]
            )
            let sender = try attach(scene)
            let refused = try scene.broadcast.run("chime", "play", "1")
            #expect(refused.code == 1 && refused.errorOutput.contains("no speakers play it"), "\(refused)")
            sender.stop()
        }

        /// By a user's own sender, with the sounds of the system.
        @Test func aChimeWithoutASoundProcessIsRefused() throws {
            let web = try WebBroadcast()
            let result = try web.broadcast.run("chime", "list")
            #expect(result.code == 0 && result.output.hasPrefix("1  "), "\(result)")
            let refused = try web.broadcast.run("chime", "play", "1")
            #expect(refused.code == 1 && refused.errorOutput.contains("no sound process"), "\(refused)")
        }
    }
}
