import Control
import Media
import TestSupport
import Testing
import Time

@testable import Sound

@Suite struct SoundSessionTests {
    private let monitor = SoundTarget.monitor("speakers.monitor")
    private let microphone = SoundTarget.microphone("mic", cancelsEcho: false)

    private func input(_ index: UInt32, sink: UInt32 = 0, process: Int32? = nil, isOwn: Bool = false)
        -> ServerView.Input
    {
        ServerView.Input(index: index, sink: sink, process: process, isOwn: isOwn)
    }

    @Test func eachSourceIsHeard() {
        #expect(VirtualServer(SoundWish(source: .monitor)).targets == [monitor])
        #expect(VirtualServer(SoundWish(source: .microphone)).targets == [microphone])
        #expect(VirtualServer(SoundWish(source: .mix)).targets == [monitor, microphone])
        let webcam = VirtualServer(SoundWish(source: .mix, microphone: "webcam"))
        #expect(webcam.targets == [monitor, .microphone("webcam", cancelsEcho: false)])
    }

    @Test func nothingIsConnectedToWithoutAWish() {
        var server = VirtualServer(SoundWish())
        server.wait(.seconds(1000))
        #expect(server.take() == [] && server.session.deadline == nil)
        server.handle(.wished(SoundWish(source: .monitor)))
        #expect(server.targets == [monitor])
        server.handle(.wished(SoundWish()))
        #expect(!server.isConnected && server.session.deadline == nil)
    }

    @Test func aBroadcastThatIsPausedIsNotHeard() {
        var server = VirtualServer(SoundWish(source: .mix), isPaused: true)
        #expect(server.isConnected && server.targets == [])
        server.handle(.broadcast(BroadcastView(isPaused: false)))
        #expect(server.targets == [monitor, microphone])
        _ = server.take()
        server.handle(.broadcast(BroadcastView(isPaused: true)))
        #expect(server.targets == [])
        // What was heard is hidden once no stream hears any more.
        let actions = server.take()
        #expect(actions.contains(.hide) && actions.contains(.tell(.microphoneOff)))
        let closings = actions.indices.filter { if case .close = actions[$0] { true } else { false } }
        #expect(closings.count == 2 && closings.allSatisfy { $0 < actions.firstIndex(of: .hide)! })
    }

    @Test func whatIsMutedIsNotHeard() {
        var server = VirtualServer(SoundWish(source: .mix), SoundMute(microphone: true))
        #expect(server.targets == [monitor] && server.session.state == .hearing)
        server.handle(.muted(SoundMute(all: true)))
        #expect(server.targets == [] && server.take().contains(.hide) && server.session.state == .muted)
        server.handle(.muted(SoundMute()))
        #expect(server.targets == [monitor, microphone])
        #expect(!server.take().contains(.hide))
        server.handle(.muted(SoundMute(microphone: true)))
        #expect(server.targets == [monitor] && server.take().contains(.hide))
    }

    @Test func itIsToldWhenTheMicrophoneIsLive() {
        var server = VirtualServer(SoundWish(source: .microphone))
        #expect(server.notes() == [.microphoneLive("Microphone")])
        server.handle(.wished(SoundWish(source: .microphone, microphone: "webcam")))
        #expect(server.notes() == [.microphoneLive("Webcam")] || server.session.openMicrophones == ["webcam"])
        server.handle(.wished(SoundWish(source: .monitor)))
        #expect(server.notes().last == .microphoneOff)
        server.handle(.muted(SoundMute(all: true)))
        #expect(server.notes() == [])
    }

    @Test func anotherDefaultIsFollowed() {
        var server = VirtualServer(SoundWish(source: .mix))
        server.change { view in (view.defaultSink, view.defaultSource) = ("headset", "webcam") }
        #expect(server.targets == [.monitor("headset.monitor"), .microphone("webcam", cancelsEcho: false)])
    }

    @Test func theMonitorOfASinkIsNoMicrophone() {
        var server = VirtualServer(SoundWish(source: .microphone))
        server.change { $0.defaultSource = "speakers.monitor" }
        #expect(server.targets == [microphone], "the first one that is a microphone")
        server.change { view in view.sources.removeAll { !$0.isMonitor } }
        #expect(server.targets == [] && server.session.state == .waiting)
        #expect(server.notes().last == .microphoneOff || server.session.problems == [.noMicrophone(nil)])
        let chosen = VirtualServer(SoundWish(source: .microphone, microphone: "speakers.monitor"))
        #expect(chosen.targets == [.microphone("speakers.monitor", cancelsEcho: false)], "unless it is named")
    }

    @Test func aMicrophoneThatIsNotThereIsToldOnceAndFound() {
        var server = VirtualServer(SoundWish(source: .mix, microphone: "headset-mic"))
        #expect(server.targets == [monitor])
        #expect(server.notes() == [.noMicrophone("headset-mic")])
        for _ in 0..<10 { server.change { _ in } }
        server.wait(.seconds(100))
        #expect(server.notes() == [])
        server.change { view in
            view.sources.append(ServerView.Source(name: "headset-mic", description: "Headset", isMonitor: false))
        }
        #expect(server.targets.contains(.microphone("headset-mic", cancelsEcho: false)))
        #expect(server.notes() == [.microphoneLive("Headset")] && server.session.problems == [])
    }

    @Test func oneThatIsRefusedIsTriedAgainEverMoreRarely() {
        var server = VirtualServer(SoundWish(source: .microphone))
        server.handle(.wished(SoundWish()))
        server.refuses = { $0 == self.microphone }
        _ = server.take()
        server.handle(.wished(SoundWish(source: .microphone)))
        #expect(server.notes() == [.refused("Microphone", reason: "Access denied")])
        server.wait(.seconds(60))
        let tries = server.take().count { if case .open = $0 { true } else { false } }
        #expect(15...20 ~= tries && server.session.problems.count == 1)
        server.refuses = { _ in false }
        server.wait(SoundSession.longestDelay)
        #expect(server.targets == [microphone] && server.session.problems == [])
    }

    @Test func aStreamThatEndsIsOpenedAgain() throws {
        var server = VirtualServer(SoundWish(source: .monitor))
        try server.kill(monitor)
        #expect(server.targets == [])
        server.wait(.milliseconds(300))
        #expect(server.targets == [monitor] && server.notes() == [])
    }

    @Test func aServerThatEndsIsFoundAgain() {
        var server = VirtualServer(SoundWish(source: .monitor))
        _ = server.take()
        server.crash()
        #expect(server.notes().count == 1 && server.session.state == .waiting)
        server.wait(.seconds(100))
        let attempts = server.take()
        #expect(attempts.count { $0 == .connect } < 30)
        #expect(!attempts.contains { if case .tell = $0 { true } else { false } }, "it is told once")
        server.isThere = true
        server.wait(SoundSession.longestDelay)
        #expect(server.targets == [monitor] && server.notes() == [.serverBack])
        // Soon afterwards it is looked for as soon as at first.
        server.crash()
        server.isThere = true
        server.wait(.milliseconds(250))
        #expect(server.targets == [monitor])
    }

    /// Sought again after longer and longer times: a sound server that is away, and a stream that is refused.
    @Test func attemptsGetRarerUpToOneInFourSeconds() {
        var away = VirtualServer(SoundWish(source: .monitor))
        away.crash()
        #expect(waits(of: &away) { $0 == .connect } == Self.waits)
        var refusing = VirtualServer(SoundWish())
        refusing.refuses = { $0 == self.microphone }
        refusing.handle(.wished(SoundWish(source: .microphone)))
        #expect(waits(of: &refusing) { if case .open = $0 { true } else { false } } == Self.waits)
    }

    private static let waits = [250, 500, 1000, 2000, 4000, 4000].map { Duration.milliseconds($0) }

    /// The times between attempts in the next twelve seconds.
    private func waits(of server: inout VirtualServer, isAttempt: (SoundSession.Action) -> Bool) -> [Duration] {
        var (waits, last) = ([Duration](), server.now)
        _ = server.take()
        for _ in 0..<240 {
            server.wait(.milliseconds(50))
            guard server.take().contains(where: isAttempt) else { continue }
            waits.append(server.now - last)
            last = server.now
        }
        return waits
    }

    @Test func withoutAServerThereIsSilence() {
        var server = VirtualServer(SoundWish())
        server.isThere = false
        server.handle(.wished(SoundWish(source: .mix)))
        server.wait(.seconds(3600))
        #expect(server.notes() == [.serverLost("Connection refused")])
        #expect(server.session.state == .waiting && server.session.openMicrophones == [])
    }

    /// Invariant: noSoundServer.
    @Test(arguments: [false, true])
    func aServerThatHangsIsLeftAndTriedAgain(hangsFromTheBeginning: Bool) {
        var server = VirtualServer(SoundWish())
        server.hangs = hangsFromTheBeginning
        server.handle(.wished(SoundWish(source: .monitor)))
        _ = server.take()
        server.hangs = true
        server.wait(SoundSession.patience + .seconds(1))
        #expect(server.notes() == [.serverLost("it does not answer")])
        server.wait(.seconds(60))
        #expect(server.notes() == [] && server.targets == [])
        server.hangs = false
        server.wait(SoundSession.patience + SoundSession.longestDelay)
        #expect(server.targets == [monitor])
        server.wait(.seconds(3600))
        #expect(server.targets == [monitor], "one that answers is kept")
    }

    /// Invariant: oneProgram.
    @Test func aProgramIsHeardAndNoOther() {
        var server = VirtualServer(SoundWish(source: .application), process: 500)
        #expect(server.targets == [])
        server.change { view in
            view.inputs = [
                input(1, process: 501), input(2, process: 600), input(3, sink: 1, process: 699), input(4),
                input(5, process: 500, isOwn: true),
            ]
        }
        #expect(server.targets == [.input(1)])
        server.change { $0.inputs.append(input(6, sink: 1, process: 500)) }
        #expect(server.targets == [.input(1), .input(6)])
        server.change { $0.inputs.removeAll { $0.index == 1 } }
        #expect(server.targets == [.input(6)])
        // Another window.
        server.handle(.broadcast(BroadcastView(isPaused: false, process: 600)))
        #expect(server.targets == [.input(2), .input(3)])
        server.handle(.broadcast(BroadcastView(isPaused: false)))
        #expect(server.targets == [] && server.notes().last == .noProgram)
    }

    @Test func aStreamThatEndsBeforeItIsHeardIsNoNews() throws {
        var server = VirtualServer(SoundWish(source: .application), process: 500)
        server.refuses = { $0 == .input(1) }
        server.change { $0.inputs = [input(1, process: 500)] }
        server.change { $0.inputs = [] }
        #expect(server.notes() == [])
        server.change { $0.inputs = [input(1, process: 500)] }
        server.wait(.seconds(10))
        #expect(server.notes().count == 1)
    }

    @Test func whoSpeaksDoesNotHearItself() {
        var server = VirtualServer(SoundWish(source: .mix))
        server.view.inputs = [input(1), input(2, sink: 1), input(3, isOwn: true)]
        server.handle(.talk(isPossible: true, isHeard: false))
        server.change { _ in }
        let echoless = SoundTarget.microphone("mic", cancelsEcho: true)
        #expect(server.targets == [.input(1), echoless])
        server.handle(.talk(isPossible: true, isHeard: true))
        #expect(server.targets == [.input(1), echoless, .output("speakers")])
        server.handle(.talk(isPossible: true, isHeard: false))
        #expect(server.targets == [.input(1), echoless])
        server.handle(.talk(isPossible: false, isHeard: false))
        #expect(server.targets == [monitor, microphone])
        // Elsewhere it does not disturb.
        server.handle(.wished(SoundWish(source: .monitor, output: "headset")))
        server.handle(.talk(isPossible: true, isHeard: true))
        #expect(server.targets == [monitor, .output("headset")])
    }

    @Test func peersAreHeardWithoutAnythingOfTheMachine() {
        var server = VirtualServer(SoundWish())
        server.handle(.talk(isPossible: true, isHeard: false))
        #expect(server.isConnected && server.targets == [])
        server.handle(.talk(isPossible: true, isHeard: true))
        #expect(server.targets == [.output("speakers")])
        server.change { view in (view.sinks, view.defaultSink) = ([], nil) }
        #expect(server.targets == [] && server.notes().last == .noSink(nil))
        server.handle(.talk(isPossible: false, isHeard: false))
        #expect(!server.isConnected)
    }

    /// A chime where nobody may speak.
    @Test func aSoundIsPlayedWithoutTalk() {
        var server = VirtualServer(SoundWish())
        #expect(!server.isConnected)
        server.handle(.talk(isPossible: false, isHeard: true))
        #expect(server.targets == [.output("speakers")])
        server.handle(.talk(isPossible: false, isHeard: false))
        #expect(!server.isConnected && server.targets == [])
        // Viewers do not hear it.
        server = VirtualServer(SoundWish(source: .monitor))
        server.view.inputs = [input(1), input(2, isOwn: true)]
        server.change { _ in }
        #expect(server.targets == [monitor])
        server.handle(.talk(isPossible: false, isHeard: true))
        #expect(server.targets == [.input(1), .output("speakers")])
    }

    /// Whatever happens, streams are those that the present state calls for, and a pause or a mute is obeyed at once.
    /// Invariant: muted.
    @Test(arguments: 0..<40)
    func aRandomWalkHearsWhatItShould(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var server = VirtualServer(SoundWish(source: .mix))
        var mute = SoundMute()
        var isPaused = false
        for _ in 0..<400 {
            switch Int.random(in: 0..<12, using: &random) {
            case 0:
                server.handle(.wished(SoundWish(source: SoundSource.allCases.randomElement(using: &random)!)))
            case 1:
                mute = SoundMute(microphone: .random(using: &random), all: .random(using: &random))
                server.handle(.muted(mute))
            case 2:
                isPaused = .random(using: &random)
                server.handle(
                    .broadcast(BroadcastView(isPaused: isPaused, process: Bool.random(using: &random) ? 500 : nil))
                )
            case 3:
                let isPossible = Bool.random(using: &random)
                server.handle(.talk(isPossible: isPossible, isHeard: isPossible && .random(using: &random)))
            case 4: server.crash()
            case 5: server.isThere = true
            case 6: server.hangs = .random(using: &random)
            case 7: server.change { $0.defaultSink = ["speakers", "headset", nil].randomElement(using: &random)! }
            case 8: server.change { $0.defaultSource = ["mic", "webcam", nil].randomElement(using: &random)! }
            case 9:
                server.change { view in
                    view.inputs = (0..<UInt32.random(in: 0..<4, using: &random)).map { index in
                        input(index, sink: index % 2, process: [500, 600].randomElement(using: &random))
                    }
                }
            case 10: if let target = server.targets.min(by: { "\($0)" < "\($1)" }) { try? server.kill(target) }
            default: server.wait(.milliseconds(Int.random(in: 1...9000, using: &random)))
            }
            let heard = server.targets.filter { $0.sink == nil }
            if mute.all || isPaused { #expect(heard == []) }
            if mute.microphone { #expect(!heard.contains { $0.isMicrophone }) }
            #expect(heard.count { if case .monitor = $0 { true } else { false } } <= 1)
        }
        // In the end all is well, and so is the sound.
        (server.isThere, server.hangs) = (true, false)
        server.handle(.wished(SoundWish(source: .mix)))
        server.handle(.muted(SoundMute()))
        server.handle(.broadcast(BroadcastView(isPaused: false)))
        server.handle(.talk(isPossible: false, isHeard: false))
        server.change { view in (view.defaultSink, view.defaultSource, view.inputs) = ("speakers", "mic", []) }
        server.wait(SoundSession.patience + SoundSession.longestDelay * 2)
        #expect(server.targets == [monitor, microphone] && server.session.problems == [])
    }
}
