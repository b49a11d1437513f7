import Calls
import Control
import Media
import TestSupport
import Testing
import Time

@testable import Publishing

@Suite struct CallListTests {
    private let call = try! CallKinds.own.plan("room+http://h:1/tea")
    private let failure = CallEnd(.unavailable, "it is gone")

    private func call(_ number: Int) throws -> CallPlan { try CallKinds.own.plan("rtp://h:\(5000 + 2 * number)") }

    private func at(_ second: Int) -> Instant { .seconds(Double(second)) }

    private func mayNotBegin(_ call: CallPlan, in list: CallList) -> Bool {
        var list = list
        return (try? list.begin(call, at: at(1000))) == nil
    }

    @Test func aCallComesIsLostComesBackAndEnds() throws {
        var list = CallList()
        #expect(!list.areOver)
        let number = try list.begin(call, at: at(1))
        #expect(list.entries[0].status.state == .joining && list.number(of: call) == number)
        let away = CallReport.Event.away(why: "x", isNews: true)
        let steps: [(second: Int, CallReport.Event, state: SenderSnapshot.Call.State, reason: String?)] = [
            (2, .standing(nil), .standing, nil), (3, away, .away, "x"), (4, .standing(.vp8), .standing, nil),
        ]
        for (second, event, state, reason) in steps {
            let isNews = list.note(event, of: number, at: at(second))
            // The same again is no news, and begins nothing anew.
            let isNewsAgain = list.note(event, of: number, at: at(second) + .milliseconds(500))
            #expect(isNews && !isNewsAgain)
            let entry = list.entries[0]
            #expect(entry.status.state == state && entry.status.reason == reason && entry.since == at(second))
        }
        let isNews = list.note(.remark, of: number, at: at(5))
        #expect(!isNews && list.entries[0].since == at(4))
        #expect(!list.areOver && !list.isOver(number))
        list.note(.ended(failure), of: number, at: at(5))
        #expect(list.areOver && list.isOver(number) && list.failure == failure && list.number(of: call) == nil)
        // What comes late does not bring it back.
        for event in [CallReport.Event.standing(nil), .ended(nil)] {
            let isNews = list.note(event, of: number, at: at(6))
            #expect(!isNews)
        }
        let status = list.entries[0].status
        #expect(status.reason == "it is gone" && status.exitCode == 69 && list.failure == failure)
    }

    @Test func oneThatHasEndedMayBeBegunAgain() throws {
        var list = CallList()
        let first = try list.begin(call, at: at(1))
        #expect(mayNotBegin(call, in: list))
        list.note(.ended(failure), of: first, at: at(2))
        let second = try list.begin(call, at: at(3))
        #expect(second != first && list.entries.count == 1)
        // What becomes of the first does not count any more.
        let isNews = list.note(.standing(nil), of: first, at: at(4))
        #expect(!isNews && list.isOver(first))
        #expect(list.entries[0].status.state == .joining && !list.areOver)
        list.note(.ended(nil), of: second, at: at(5))
        #expect(list.areOver && list.failure == nil)
    }

    @Test func thereAreNoMoreThanTheLimitAndTheLatestEndsAreTold() throws {
        var list = CallList()
        let numbers = try (0..<CallList.most).map { try list.begin(call($0), at: at($0)) }
        #expect(try mayNotBegin(call(100), in: list))
        for (second, number) in numbers.reversed().enumerated() {
            list.note(.ended(nil), of: number, at: at(200 + second))
        }
        #expect(list.areOver && list.entries.map(\.number) == Array(1...8))
        _ = try list.begin(call(100), at: at(300))
        #expect(list.entries.count == 9 && !list.areOver)
    }

    /// Whatever comes in whichever order, what can be seen of a call never goes back from its end.
    @Test func endsAreFinal() throws {
        var random = SplitMix(seed: 29)
        for _ in 0..<200 {
            var list = CallList()
            var (running, over): ([Int: CallPlan], Set<Int>) = ([:], [])
            for second in 0..<120 {
                let call = try call(Int.random(in: 0..<40, using: &random))
                switch Int.random(in: 0..<4, using: &random) {
                case 0:
                    let mayBegin = !running.values.contains(call) && running.count < CallList.most
                    let number = try? list.begin(call, at: at(second))
                    #expect((number != nil) == mayBegin)
                    if let number { running[number] = call }
                case 1:
                    guard let number = running.keys.sorted().randomElement(using: &random) else { continue }
                    list.note(.ended(failure), of: number, at: at(second))
                    running[number] = nil
                    over.insert(number)
                case 2: list.note(.standing(nil), of: Int.random(in: 0..<60, using: &random), at: at(second))
                default:
                    guard let number = over.sorted().randomElement(using: &random) else { continue }
                    let isNews = list.note(.away(why: "x", isNews: true), of: number, at: at(second))
                    #expect(!isNews)
                }
                #expect(list.entries.filter { !$0.isOver }.map(\.number) == running.keys.sorted())
                #expect(over.allSatisfy { list.isOver($0) } && list.entries.count <= running.count + 8)
                #expect(list.areOver == (running.isEmpty && !list.entries.isEmpty))
            }
        }
    }
}
