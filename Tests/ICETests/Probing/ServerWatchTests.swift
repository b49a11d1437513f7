import ICE
import TestSupport
import Testing
import Time

@Suite struct ServerWatchTests {
    private static let start = Instant.seconds(100)

    private func take(_ watch: inout ServerWatch, _ now: Instant) -> [Int] { watch.takeDue(at: now) }

    private func note(_ watch: inout ServerWatch, _ result: ServerProbe.Result, of index: Int, at now: Instant) -> Bool
    {
        watch.note(result, of: index, at: now)
    }

    @Test func eachServerIsProbedAtFirstAndThoseThatFailAgain() {
        var watch = ServerWatch([nil, nil], now: Self.start)
        #expect(take(&watch, Self.start) == [0, 1])
        #expect(take(&watch, Self.start) == [] && watch.deadline == nil, "both are asked")
        let answered = Self.start + .seconds(4)
        #expect(!note(&watch, .works, of: 0, at: answered))
        #expect(note(&watch, .noAnswer, of: 1, at: answered))
        #expect(watch[0]?.result == .works && watch[1]?.result == .noAnswer && watch[1]?.since == answered)
        #expect(watch.deadline == answered + .seconds(300))
        #expect(take(&watch, answered + .seconds(299)) == [])
        #expect(take(&watch, answered + .seconds(300)) == [1])
    }

    /// Each state is told once, and the end of each.
    @Test func peopleAreToldOfChangesAlone() {
        var watch = ServerWatch([nil], now: Self.start)
        var now = Self.start
        let results: [(ServerProbe.Result, Bool)] = [
            (.noAnswer, true), (.noAnswer, false), (.wrongLogin, true), (.wrongLogin, false), (.works, true),
            (.works, false), (.refused(code: 486, reason: "a"), true), (.refused(code: 486, reason: "a"), false),
            (.refused(code: 403, reason: "b"), true), (.works, true),
        ]
        for (index, (result, isNews)) in results.enumerated() {
            watch.networkChanged(at: now)
            #expect(take(&watch, now) == [0])
            #expect(note(&watch, result, of: 0, at: now) == isNews, "\(index): \(result)")
            now += .seconds(1)
        }
        #expect(watch[0]?.since == now - .seconds(1))
    }

    /// What was asked for on the old network says nothing of the new one.
    @Test func aChangeOfTheNetworkIsFollowedByAnotherProbe() {
        var watch = ServerWatch([nil], now: Self.start)
        #expect(take(&watch, Self.start) == [0])
        watch.networkChanged(at: Self.start + .seconds(1))
        #expect(take(&watch, Self.start + .seconds(1)) == [], "it is asked")
        _ = watch.note(.noAnswer, of: 0, at: Self.start + .seconds(4))
        #expect(take(&watch, Self.start + .seconds(4)) == [0])
        _ = watch.note(.works, of: 0, at: Self.start + .seconds(5))
        #expect(watch.deadline == nil)
    }

    /// A viewer who comes each second makes no probe each second.
    @Test func doubtIsFollowedByAProbeNowAndThen() {
        var watch = ServerWatch([nil], now: Self.start)
        _ = watch.takeDue(at: Self.start)
        watch.doubt(at: Self.start + .seconds(1))
        _ = watch.note(.works, of: 0, at: Self.start + .seconds(2))
        #expect(watch.deadline == nil, "it was asked when the doubt came")
        for second in 3..<6 { watch.doubt(at: Self.start + .seconds(second)) }
        #expect(watch.deadline == Self.start + .seconds(10))
        #expect(take(&watch, Self.start + .seconds(10)) == [0])
        _ = watch.note(.works, of: 0, at: Self.start + .seconds(11))
        watch.doubt(at: Self.start + .seconds(60))
        #expect(take(&watch, Self.start + .seconds(60)) == [0], "at once, as the last one is long ago")
    }

    @Test func aMachineThatCannotAskBlamesNobody() {
        var watch = ServerWatch([nil], now: Self.start)
        _ = watch.takeDue(at: Self.start)
        let isNews = watch.note(nil, of: 0, at: Self.start)
        #expect(!isNews && watch[0] == nil && watch.deadline == Self.start + .seconds(300))
    }

    /// Servers that a media server names anew for each session: what earlier ones have shown is no news.
    @Test(
        arguments: [
            (nil, .noAnswer, true), (nil, .works, false), (.noAnswer, .noAnswer, false), (.noAnswer, .works, true),
            (.works, .works, false), (.works, .wrongLogin, true),
        ] as [(ServerProbe.Result?, ServerProbe.Result, Bool)]
    )
    func whatWasKnownIsNoNews(known: ServerProbe.Result?, result: ServerProbe.Result, isNews: Bool) {
        let since = Self.start - .seconds(9)
        var watch = ServerWatch([known.map { ($0, since) }], repeats: false, now: Self.start)
        #expect(watch[0]?.result == known && (known == nil || watch[0]?.since == since))
        #expect(take(&watch, Self.start) == [0])
        #expect(note(&watch, result, of: 0, at: Self.start) == isNews)
        #expect(watch[0]?.since == (known == result ? since : Self.start))
        #expect(watch.deadline == nil, "it is probed once")
    }
}
