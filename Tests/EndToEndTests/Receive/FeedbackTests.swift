import Foundation
import Glibc
import Posix
import TestSupport
import Testing
import Time

extension Receive {
    /// What a receiver asks for, and what the sender tells it, on a screen that stands still.
    @Suite struct FeedbackTests {
        /// A still screen, sent without periodic keyframes.
        private struct StillStream {
            let server: XServer
            let broadcast: Broadcast
            let capture: Subprocess
            let sender: Subprocess
            let tap: RTPTap

            init() throws {
                server = try XServer()
                broadcast = try Broadcast(on: server.display)
                capture = try broadcast.start()
                tap = try RTPTap()
                sender = try broadcast.attach(toPort: tap.port, "--keyframe-interval", "0")
                try wait(until: "the picture has come, and a report") { [tap] in
                    !tap.datagrams(.media).isEmpty && !tap.datagrams(.control).isEmpty
                }
            }

            var packets: [(time: UInt64, packet: RTPPacket)] {
                tap.datagrams(.media).compactMap { datagram in
                    RTPPacket(datagram.bytes).map { (datagram.time, $0) }
                }
            }

            var ssrc: UInt32 { packets[0].packet.ssrc }
            var keyframeTimes: [UInt64] { packets.filter { $0.packet.beginsVP8Keyframe }.map(\.time) }

            /// Sends feedback, and requires that so many keyframes come of it: another request, behind it, brings one more.
            func requireKeyframes(_ count: Int, after feedback: [[UInt8]]) throws {
                waitForHoldOff()
                let before = keyframeTimes.count
                for bytes in feedback { try tap.send(feedback: bytes) }
                try wait(until: "what was asked for has come") { keyframeTimes.count >= before + count }
                waitForHoldOff()
                try tap.send(feedback: Feedback.pictureLossIndication(about: ssrc))
                try wait(until: "the request behind is answered") { keyframeTimes.count > before + count }
                try #require(keyframeTimes.count == before + count + 1)
            }

            /// One keyframe comes in 300 ms, and one more. Those who ask wait until both may come, also after what was not answered.
            private func waitForHoldOff() { MonotonicClock.sleep(for: .milliseconds(700)) }
        }

        @Test func aKeyframeComesForEachReasonAndOnlyOnce() throws {
            let stream = try StillStream()
            let ssrc = stream.ssrc
            #expect(stream.keyframeTimes.count == 1)
            try stream.requireKeyframes(0, after: [])
            try stream.requireKeyframes(1, after: [Feedback.pictureLossIndication(about: ssrc)])
            try stream.requireKeyframes(1, after: [Feedback.fullIntraRequest(about: ssrc, number: 7)])
            // RFC 5104 section 4.3.1.2: the same number repeats a request, another is a new one.
            try stream.requireKeyframes(0, after: [Feedback.fullIntraRequest(about: ssrc, number: 7)])
            try stream.requireKeyframes(1, after: [Feedback.fullIntraRequest(about: ssrc, number: 8)])
            try stream.requireKeyframes(0, after: [Feedback.pictureLossIndication(about: ssrc &+ 1)])
            try stream.requireKeyframes(0, after: [])
            #expect(SequenceCheck(stream.packets.map(\.packet)).missing == 0)
            stream.sender.stop()
            stream.capture.stop()
        }

        @Test func aFloodOfRequestsGetsAKeyframeEvery300Milliseconds() throws {
            let stream = try StillStream()
            let request = Feedback.pictureLossIndication(about: stream.ssrc)
            try wait(until: "some keyframes have come", restsBetween: false) {
                try stream.tap.send(feedback: request)
                return stream.keyframeTimes.count >= 6
            }
            // The media's clock: when they come depends on the machine.
            let stamps = stream.packets.map(\.packet).filter(\.beginsVP8Keyframe).map(\.timestamp)
            // One may come ahead of its time.
            for (one, next) in zip(stamps, stamps.dropFirst(2)) { #expect(next &- one > 90_000 * 270 / 1000) }
            stream.sender.stop()
            stream.capture.stop()
        }

        @Test func rubbishFromAReceiverChangesNothing() throws {
            let stream = try StillStream()
            let seed = MonotonicClock.now().nanoseconds
            var random = SplitMix(seed: seed)
            print("rubbish with seed \(seed)")
            let valid = Feedback.fullIntraRequest(about: stream.ssrc &+ 1, number: 1)
            for _ in 0..<10 {
                // As many as the sender's socket has room for.
                let rubbish = (0..<200).map { _ in
                    var bytes = valid
                    for _ in 0..<Int.random(in: 1...4, using: &random) {
                        bytes[Int.random(in: 0..<4, using: &random)] = UInt8.random(in: 0...255, using: &random)
                    }
                    return Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random)))
                }
                try stream.requireKeyframes(0, after: rubbish)
            }
            #expect(stream.sender.status() == nil)
            stream.sender.stop()
            stream.capture.stop()
        }

        /// The picture changes all the time; who comes sees it.
        /// Invariant: idle.
        @Test func nothingIsEncodedWhileNobodyListens() throws {
            let server = try XServer()
            let workload = try draw("typing", on: server)
            let broadcast = try Broadcast(on: server.display)
            let capture = try broadcast.start()
            let port = try Ports.free()
            let statistics = broadcast.folder.file("sender.json")
            let sender = try broadcast.attach(toPort: port, "--stats", statistics)
            func framesUnheard() -> [Int] {
                let text = (try? String(contentsOfFile: statistics, encoding: .utf8)) ?? ""
                return text.split(separator: "\n").compactMap { line in
                    let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
                    return object?["receiver_listening"] as? Bool == false ? object?["frames_encoded"] as? Int : nil
                }
            }
            try wait(until: "the sender has been refused for seconds") { framesUnheard().count >= 4 }
            // A receiver may seem to be there for a moment when a refusal is late; typing alone changes 16 pictures a second.
            try wait(until: "nothing is encoded for seconds: \(framesUnheard())") {
                let frames = framesUnheard().suffix(4)
                return frames.last! - frames.first! <= 3
            }
            let tap = try RTPTap(port: port)
            try wait(until: "a keyframe has come") {
                tap.datagrams(.media).contains { RTPPacket($0.bytes)?.beginsVP8Keyframe == true }
            }
            sender.stop()
            capture.stop()
            workload.stop()
        }

        /// What stood still for long before the sender came is stamped with the present, as what follows is.
        @Test func theStreamOfAStillScreenBeginsNow() throws {
            let server = try XServer()
            let broadcast = try Broadcast(on: server.display)
            let capture = try broadcast.start("--no-cursor")
            sleep(3)
            let start = MonotonicClock.now().nanoseconds
            let tap = try RTPTap()
            let sender = try broadcast.attach(toPort: tap.port)
            try wait(until: "two pictures have come") { timestamps(in: tap).count > 1 }
            let packets = tap.datagrams(.media).compactMap { datagram in
                RTPPacket(datagram.bytes).map { (arrival: datagram.time, stamp: $0.timestamp) }
            }
            let next = try #require(packets.first { $0.stamp != packets[0].stamp })
            // Both were stamped between its start and the arrival of the second one.
            let stamped = Double(next.stamp &- packets[0].stamp) / 90_000
            #expect(stamped < Double(next.arrival - start) / 1e9 + 0.001, "of \(packets.count) packets")
            sender.stop()
            capture.stop()
        }

        /// Pictures in which only the pointer has moved have times of their own.
        @Test func theTimestampsFollowTheClockWhenOnlyThePointerMoves() throws {
            let stream = try StillStream()
            try wait(until: "the picture has converged") {
                let last = stream.packets.last?.time ?? 0
                return MonotonicClock.now().nanoseconds > last + 1_500_000_000
            }
            let start = MonotonicClock.now().nanoseconds
            for step in 0..<200 {
                try stream.server.xdotool("mousemove", "\(100 + step)", "\(50 + step)")
            }
            let stamps = timestamps(in: stream.tap, since: start)
            #expect(stamps.count > 10)
            // 30 frames a second are 3000 ticks apart; one may follow the other after half of that, and what is refined may come
            // just before one.
            for (one, later) in zip(stamps, stamps.dropFirst(2)) { #expect(later &- one >= 1000) }
            stream.sender.stop()
            stream.capture.stop()
        }

        /// The different timestamps, in the order of sending.
        private func timestamps(in tap: RTPTap, since time: UInt64 = 0) -> [UInt32] {
            var stamps: [UInt32] = []
            for packet in tap.datagrams(.media, since: time).compactMap({ RTPPacket($0.bytes) })
            where packet.timestamp != stamps.last {
                stamps.append(packet.timestamp)
            }
            return stamps
        }

        /// RFC 3550 section 6.4.1: the report's two clocks agree with the media's timestamps.
        @Test func reportsMapTheMediaClock() throws {
            let stream = try StillStream()
            try wait(until: "four reports have come") { stream.tap.datagrams(.control).count >= 4 }
            var clocks: [(seconds: Double, timestamp: UInt32)] = []
            for datagram in stream.tap.datagrams(.control) {
                let parts = RTCPPart.parts(of: datagram.bytes)
                #expect(parts.map(\.type) == [RTCPPart.senderReport, RTCPPart.sourceDescription])
                let report = try #require(parts.first)
                #expect(report.word(1) == stream.ssrc)
                clocks.append((Double(report.word(2)) + Double(report.word(3)) / 4_294_967_296, report.word(4)))
            }
            // 1 January 1970 in seconds from 1900.
            #expect(abs(clocks[0].seconds - 2_208_988_800 - Double(time(nil))) < 3600)
            for (one, next) in zip(clocks, clocks.dropFirst()) {
                let elapsed = Double(next.timestamp &- one.timestamp) / 90_000
                #expect(abs(elapsed - (next.seconds - one.seconds)) < 0.001)
            }
            // A picture's timestamp is the moment of its capture, just before it was sent.
            let (sentAt, packet) = try #require(stream.packets.last)
            let report = try #require(stream.tap.datagrams(.control).last)
            let between = Double(Int64(bitPattern: sentAt &- report.time)) / 1e9
            let mapped = Double(Int32(bitPattern: packet.timestamp &- clocks[clocks.count - 1].timestamp)) / 90_000
            #expect(abs(between - mapped) < 5)
            stream.sender.stop()
            stream.capture.stop()
        }

        @Test(arguments: [SIGTERM, SIGINT])
        func aSenderSaysGoodbye(signal: Int32) throws {
            let stream = try StillStream()
            let ssrc = stream.ssrc
            stream.sender.kill(signal)
            #expect(try stream.sender.wait() == .code(0))
            try wait(until: "the goodbye has come") {
                let parts = RTCPPart.parts(of: stream.tap.datagrams(.control).last!.bytes)
                return parts.contains { $0.type == RTCPPart.goodbye && $0.word(1) == ssrc }
            }
            stream.capture.stop()
        }
    }
}
