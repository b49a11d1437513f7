import Control
import JSON
import Media
import TestSupport
import Testing
import Time

@testable import Access
@testable import FrameBridge
@testable import oriel

/// What programs read of Oriel, to the letter: a key, its unit and its words never change, and what is not known has no key.
@Suite struct SnapshotKeysTests {
    // MARK: - `oriel status`

    private static let path = "/run/user/1000/oriel/default"

    private static let viewer: ViewerSnapshot = {
        var viewer = ViewerSnapshot()
        viewer.participant.id = 3
        (viewer.participant.call, viewer.participant.address, viewer.participant.name) = ("web", "192.0.2.7", "Ann")
        (viewer.participant.sinceS, viewer.participant.state) = (12, "connected")
        viewer.peer.media.pictures = .both
        (viewer.peer.media.codec, viewer.peer.media.rendition) = ("vp8", 2)
        (viewer.peer.media.soundBps, viewer.peer.media.soundLossRatio) = (64_000, 0.25)
        (viewer.peer.media.srtp, viewer.peer.media.path) = ("AEAD_AES_128_GCM", "host-relay")
        (viewer.peer.link.bitrateBps, viewer.peer.link.estimateBps) = (900_000, 1_500_000)
        (viewer.peer.link.targetBps, viewer.peer.link.queueMs) = (1_200_000, 4.25)
        (viewer.peer.link.rttMs, viewer.peer.link.lossRatio) = (35.25, 0.02)
        (viewer.peer.link.framesSent, viewer.peer.link.nacks, viewer.peer.link.plis) = (360, 5, 2)
        (viewer.participant.talk, viewer.participant.leaseS) = (.speaking, 120)
        viewer.participant.voice = ViewerSnapshot.Voice(
            levelDb: -23.5,
            lossRatio: 0.02,
            concealedRatio: 0.01,
            bufferMs: 35
        )
        return viewer
    }()

    private static let silentViewer: ViewerSnapshot = {
        var viewer = ViewerSnapshot()
        (viewer.participant.id, viewer.participant.call, viewer.participant.state) = (4, "web", "connecting")
        return viewer
    }()

    private static let status: SenderSnapshot = {
        var web = SenderSnapshot.Call(name: "web", state: .standing, sinceS: 60)
        web.sdp = "v=0"
        let plain = SenderSnapshot.Call(
            name: "rtp://192.0.2.1:5004",
            state: .away,
            sinceS: 2,
            reason: "nobody listens",
            exitCode: 75
        )
        var sound = SenderSnapshot.Sound()
        (sound.channels, sound.bitrateBps, sound.targetBps) = (2, 96_000, 64_000)
        (sound.packets, sound.blocksLost, sound.silent) = (50, 3, false)
        let relay = SenderSnapshot.Server(
            name: "turn:relay.example.net:3478",
            state: .wrongLogin,
            sinceS: 9,
            reason: "turn:relay.example.net:3478 refuses the login"
        )
        var status = SenderSnapshot(calls: [web, plain], bitrateBps: 2_500_000, viewers: [viewer, silentViewer])
        (status.quantizer, status.limit, status.sound, status.servers) = (12, .link, sound, [relay])
        status.knocks = [SenderSnapshot.Knock(id: 2, name: "Bob", note: "from B4", address: "192.0.2.9", sinceS: 5)]
        return status
    }()

    private static let sound: SoundSnapshot = {
        var sound = SoundSnapshot(pid: 9, source: .mix, state: .hearing)
        sound.isMicrophoneLive = true
        (sound.peakDbfs, sound.levelDbfs) = (-6, -20.25)
        sound.streams = [SoundSnapshot.Stream(device: "mic", isMicrophone: true, driftPpm: 12.5, isResampled: true)]
        (sound.blocksWritten, sound.problems) = (6000, ["the sink is gone"])
        (sound.playback.device, sound.playback.volume, sound.playback.bufferMs) = ("speakers", 80, 40)
        (sound.playback.underruns, sound.playback.stretchPpm) = (1, 3)
        return sound
    }()

    private static let soundLine = #"""
        {"blocks_written":6000,"is_microphone_live":true,"is_microphone_muted":false,"level_dbfs":-20.25,"peak_dbfs":-6,\#
        "pid":9,"playback":{"buffer_ms":40,"device":"speakers","stretch_ppm":3,"underruns":1,"volume":80},\#
        "problems":["the sink is gone"],"source":"mix","state":"hearing",\#
        "streams":[{"device":"mic","drift_ppm":12.5,"is_microphone":true,"is_resampled":true}]}
        """#

    private static let snapshot: Snapshot = {
        var snapshot = Snapshot(directory: path)
        (snapshot.capture.state, snapshot.capture.reason, snapshot.capture.pid) = ("active", "it is paused", 5)
        (snapshot.capture.source, snapshot.capture.width, snapshot.capture.height) = ("screen", 1920, 1080)
        (snapshot.capture.framesPublished, snapshot.capture.frameAgeMs) = (1800, 16.75)
        (snapshot.capture.uptimeS, snapshot.capture.hasSender) = (61.5, true)
        snapshot.senders = [
            Snapshot.Sender(pid: 7, .success(status)), Snapshot.Sender(pid: 8, .failure(.gone(.sender(pid: 8)))),
        ]
        (snapshot.sound, snapshot.soundProblem) = (sound, "sound: it is not understood")
        var recorder = RecorderSnapshot(pid: 11, state: .recording, folder: "/films")
        (recorder.file, recorder.bytes, recorder.lengthS) = ("c.webm", 4096, 12.5)
        (recorder.lastFile, recorder.files) = ("b.webm", 2)
        snapshot.recorders = [recorder]
        return snapshot
    }()

    @Test func statusTellsAllThatIsKnown() throws {
        let senders = #"""
            {"bitrate_bps":2500000,"calls":[\#
            {"name":"web","sdp":"v=0","since_s":60,"state":"standing","viewers":[3,4]},\#
            {"exit_code":75,"name":"rtp://192.0.2.1:5004","reason":"nobody listens","since_s":2,"state":"away","viewers":[]}],\#
            "limit":"link","pid":7,"quantizer":12,"servers":[{"name":"turn:relay.example.net:3478",\#
            "reason":"turn:relay.example.net:3478 refuses the login","since_s":9,"state":"wrong_login"}],\#
            "sound":{"bitrate_bps":96000,"blocks_lost":3,"channels":2,"codec":"opus","packets":50,"silent":false,\#
            "target_bps":64000}},\#
            {"pid":8,"problem":"the sender 8 takes no commands"}
            """#
        let viewers = #"""
            {"address":"192.0.2.7","bitrate_bps":900000,"call":"web","codec":"vp8","estimate_bps":1500000,\#
            "frames_sent":360,"id":3,"lease_s":120,"loss_ratio":0.02,"nacks":5,"name":"Ann","path":"host-relay","pictures":"both",\#
            "plis":2,"queue_ms":4.25,"rendition":2,"rtt_ms":35.25,"sender":7,"since_s":12,"sound_bps":64000,\#
            "sound_loss_ratio":0.25,"srtp":"AEAD_AES_128_GCM","state":"connected","talk":"speaking",\#
            "target_bps":1200000,\#
            "voice":{"buffer_ms":35,"concealed_ratio":0.01,"level_db":-23.5,"loss_ratio":0.02}},\#
            {"address":"","bitrate_bps":0,"call":"web","codec":"","frames_sent":0,"id":4,"nacks":0,"pictures":"sent",\#
            "plis":0,"sender":7,"since_s":0,"state":"connecting","talk":"off"}
            """#
        let knocks = #"""
            {"address":"192.0.2.9","id":2,"name":"Bob","note":"from B4","sender":7,"since_s":5}
            """#
        let recorder = #"""
            {"bytes":4096,"file":"c.webm","files":2,"folder":"/films","last_file":"b.webm","length_s":12.5,\#
            "muted":false,"pid":11,"state":"recording","version":1}
            """#
        let line = try Self.snapshot.printableJSONLine()
        #expect(
            line == #"""
                {"directory":"\#(Self.path)","frame_age_ms":16.75,"frames_published":1800,"has_sender":true,\#
                "height":1080,"knocks":[\#(knocks)],"pid":5,"reason":"it is paused",\#
                "recorders":[\#(recorder)],"senders":[\#(senders)],\#
                "sound":\#(Self.soundLine),"sound_problem":"sound: it is not understood","source":"screen",\#
                "state":"active","uptime_s":61.5,"version":1,"viewers":[\#(viewers)],"width":1920}
                """#
        )
    }

    @Test func statusOfNothingHasFewKeys() throws {
        let snapshot = Snapshot(directory: Self.path)
        let line = try snapshot.printableJSONLine()
        #expect(
            line == #"""
                {"directory":"\#(Self.path)","frames_published":0,"has_sender":false,"knocks":[],"senders":[],\#
                "state":"stopped","version":1,"viewers":[]}
                """#
        )
        #expect(snapshot.lines == ["stopped in \(Self.path)"])
    }

    @Test func statusIsToldToPeople() {
        #expect(
            Self.snapshot.lines == [
                "active in \(Self.path), it is paused, screen, 1920x1080, process 5, 1800 frames, "
                    + "the last 17 ms ago, a sender is attached, limited by the link, sound at 96 kb/s, 2 viewers",
                "sound: mix hearing, the microphone is live, -20 dB, viewers are played, the sink is gone",
                "sound: it is not understood",
                "recorder: recording into /films/c.webm, 12 s, 4 KiB, 2 files are whole",
                "the sender 8 takes no commands",
                "turn:relay.example.net:3478 refuses the login",
                "2: \"Bob\" from 192.0.2.9 (from B4) has asked to look in for 5 s",
                "",
                "call                  is        for   viewers  why             sender",
                "web                   standing  60 s  3, 4     -               7     ",
                "rtp://192.0.2.1:5004  away      2 s   -        nobody listens  7     ",
                "",
                "viewer   from       for   pictures  codec  rendition  kb/s  target  link  queue  round trip  loss  "
                    + "frames  nacks  plis  sound    talk                                            "
                    + "lease  sender",
                "3 \"Ann\"  192.0.2.7  12 s  both      vp8    2          900   1200    1500  4 ms   35 ms       2 %   "
                    + "360     5      2     64 kb/s  speaking, -24 dB, 2 % lost, 1 % made up, 35 ms  120 s  7     ",
                "4                   0 s   sent      -      -          0     -       -     -      -           -     "
                    + "0       0      0     -        -                                               -      7     ",
            ]
        )
    }

    // MARK: - Other commands

    @Test func inspectTellsAllThatIsKnown() throws {
        let holder = LockHolder(pid: 5, program: "oriel")
        let report = InspectionReport(
            directory: Self.path,
            state: "active",
            statedState: "active",
            reason: "it is paused",
            lastError: "away",
            lastErrorAgeMs: 1.5,
            writerLocked: true,
            writers: [holder],
            readersAttached: true,
            readers: [holder],
            generation: "a1",
            generations: ["a1"],
            source: "screen",
            framesPerSecond: 30,
            fileBytes: 4096,
            published: 1800,
            heartbeatAgeMs: 2.5,
            stateAgeMs: 3.5,
            slots: [
                InspectionReport.Slot(
                    sequence: 6,
                    isLatest: true,
                    isBeingWritten: false,
                    frame: 3,
                    width: 1920,
                    height: 1080,
                    orientation: "normal",
                    capturedAgeMs: 4.5,
                    captureToPublishMs: 0.5
                )
            ],
            tiles: InspectionReport.Tiles(columns: 2, framesSinceChange: [0, 7]),
            sound: InspectionReport.Sound(
                state: "active",
                problem: "away",
                writers: [holder],
                generation: "b2",
                generations: ["b2"],
                fileBytes: 8192,
                blocksWritten: 6000,
                newestBlock: InspectionReport.Sound.Block(number: 5999, channels: 2, capturedAgeMs: 5.5),
                horizonAgeMs: 6.5,
                heartbeatAgeMs: 7.5
            ),
            rates: InspectionReport.Rates(framesPerSecond: 29.5, tilesPerSecond: 12),
            soundProcess: Self.sound
        )
        let holders = #"[{"pid":5,"program":"oriel"}]"#
        let sound = #"""
            {"blocks_written":6000,"file_bytes":8192,"generation":"b2","generations":["b2"],"heartbeat_age_ms":7.5,\#
            "horizon_age_ms":6.5,"newest_block":{"captured_age_ms":5.5,"channels":2,"number":5999},"problem":"away",\#
            "state":"active","writers":\#(holders)}
            """#
        let slot = #"""
            {"capture_to_publish_ms":0.5,"captured_age_ms":4.5,"frame":3,"height":1080,"is_being_written":false,\#
            "is_latest":true,"orientation":"normal","sequence":6,"width":1920}
            """#
        let line = try report.printableJSONLine()
        #expect(
            line == #"""
                {"directory":"\#(Self.path)","file_bytes":4096,"frames_per_second":30,"generation":"a1",\#
                "generations":["a1"],"heartbeat_age_ms":2.5,"last_error":"away","last_error_age_ms":1.5,\#
                "published":1800,"rates":{"frames_per_second":29.5,"tiles_per_second":12},"readers":\#(holders),\#
                "readers_attached":true,"reason":"it is paused","slots":[\#(slot)],"sound":\#(sound),\#
                "sound_process":\#(Self.soundLine),"source":"screen","state":"active","state_age_ms":3.5,\#
                "stated_state":"active","tiles":{"columns":2,"frames_since_change":[0,7]},"writer_locked":true,\#
                "writers":\#(holders)}
                """#
        )
    }

    @Test func listsTellWhatIsThere() throws {
        let listing = Listing(
            monitors: [Listing.Monitor(name: "HDMI-1", isPrimary: true, x: 0, y: 1, width: 1920, height: 1080)],
            windows: [Listing.Window(id: "0x2a", title: "a\u{2028}b", x: 2, y: 3, width: 640, height: 480)]
        )
        let line = try listing.printableJSONLine()
        #expect(
            line == #"""
                {"monitors":[{"height":1080,"is_primary":true,"name":"HDMI-1","width":1920,"x":0,"y":1}],\#
                "windows":[{"height":480,"id":"0x2a","title":"a\u2028b","width":640,"x":2,"y":3}]}
                """#
        )
        let key = try #require(GuestKey(rawValue: String(repeating: "a", count: 64)))
        let known = [GuestStore.Entry(key: key, name: "Ann", since: "2026-01-01T00:00:00Z")]
        #expect(
            try known.printableJSONLine() == #"[{"key":"\#(key)","name":"Ann","since":"2026-01-01T00:00:00Z"}]"#
        )
    }

    // MARK: - Files

    /// A sound process reads what one of an earlier version has kept, and may write no more than 1024 bytes.
    @Test func theSoundProcessKeepsLittle() throws {
        let bare = SoundBequest(wish: SoundWish(), mute: SoundMute())
        #expect(
            try bare.jsonLine()
                == #"{"mute":{"all":false,"microphone":false},"wish":{"source":"none","volume":255}}"#
        )
        let wish = SoundWish(source: .application, microphone: "mic", output: "speakers", volume: 80)
        let line = try SoundBequest(wish: wish, mute: SoundMute(microphone: true, all: true)).jsonLine()
        #expect(
            line == #"""
                {"mute":{"all":true,"microphone":true},"wish":{"microphone":"mic","output":"speakers",\#
                "source":"app","volume":80}}
                """#
        )
    }
}
