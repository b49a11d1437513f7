import Discovery
import JSON
import Link
import Pairing
import Time

/// A line for the person at the other device, with parameters.
package struct DeviceMessage: Codable, Equatable, Sendable {
    /// Of the text, in Unicode scalars.
    package static let longest = 4000

    package var text: String
    package var parameters: [String: String]
}

extension Neighbourhood {
    /// Lines of each pair that are known again.
    private static let mostReceived = 64

    /// Something for a pair that waits for its link.
    struct Errand {
        enum Deed {
            case tell(json: String)
            /// The pair is none any more, and is to know it.
            case unpair
        }

        let client: Int
        let deed: Deed
    }

    mutating func tell(_ text: String, _ message: DeviceMessage, for client: Int, at now: Instant) {
        guard let id = PairID(text), pair(id)?.state == .paired, let json = try? message.jsonLine(),
            json.utf8.count <= LinkFrame.mostData
        else { return fail(client, .refused, "there is no such pair, or the line is too long") }
        begin(Errand(client: client, deed: .tell(json: json)), for: id, at: now)
    }

    mutating func unpair(_ text: String, for client: Int, at now: Instant) {
        reload(at: now)
        renewResolvingKey()
        guard let id = PairID(text), pair(id)?.state == .unpaired else { return finish(client) }
        tellWatchers(of: .pair(id))
        begin(Errand(client: client, deed: .unpair), for: id, at: now)
    }

    /// Does it at once, or when the pair is linked.
    private mutating func begin(_ errand: Errand, for id: PairID, at now: Instant) {
        errands[id, default: []].append(errand)
        if case .connected = links.state(of: id) { runErrands(for: id) } else { search(for: id, at: now) }
        if case .unpair = errand.deed { searches[id] = now + Self.searchTime }
    }

    /// Dials a pair, wherever it is or will be found.
    mutating func search(for id: PairID, at now: Instant) {
        searches[id] = now + Self.searchTime
        links.connect(id, at: now)
    }

    /// Drops what waits for a pair that is not found.
    mutating func giveUpSearch(for id: PairID, at now: Instant) {
        guard let end = searches[id], now >= end else { return }
        // Whoever does not answer is told at the next link.
        if pair(id)?.state == .unpaired { dropErrands(for: id) }
        guard links.state(of: id) == .notConnected else {
            // What is dialled ends by itself.
            searches[id] = now + Self.searchTime
            return
        }
        searches[id] = nil
        dropErrands(for: id)
        dropSendings(to: id)
        // A file that was cut off goes on wherever the pair was reached before, too.
        if sendings.values.contains(where: { $0.pair == id }) {
            searches[id] = now + Self.retryTime
            links.connect(id, at: now)
        }
    }

    mutating func runErrands(for id: PairID) {
        for errand in errands[id] ?? [] {
            guard case .tell(let json) = errand.deed else { continue }
            messages[nextMessage] = (errand.client, id, json)
            nextMessage &+= 1
        }
        // Also those that a former link may have lost: the other side knows their numbers.
        for (number, line) in messages where line.pair == id {
            links.send(.message(id: number, json: line.json), to: id)
        }
        errands[id]?.removeAll { if case .tell = $0.deed { true } else { false } }
        if pair(id)?.state == .unpaired { links.send(.unpair, to: id) }
    }

    /// The pair cannot be reached now.
    mutating func dropErrands(for id: PairID) {
        for (number, line) in messages where line.pair == id {
            messages[number] = nil
            fail(line.client, .unavailable, "\(pair(id)?.name ?? "the device") cannot be reached now")
        }
        for errand in errands.removeValue(forKey: id) ?? [] {
            switch errand.deed {
            case .tell: fail(errand.client, .unavailable, "\(pair(id)?.name ?? "the device") cannot be reached now")
            case .unpair: finish(errand.client)
            }
        }
    }

    /// A device is no pair any more.
    mutating func dropAll(of id: PairID) {
        for (number, line) in messages where line.pair == id {
            messages[number] = nil
            fail(line.client, .refused, "the pairing has ended")
        }
        for (key, sending) in sendings where sending.pair == id {
            sendings[key] = nil
            outputs.append(.file(.close(key, keepsPart: false)))
            fail(sending.client, .refused, "the pairing has ended")
        }
    }

    /// A command has what it asked for.
    mutating func finish(_ client: Int) {
        outputs += [.reply(client: client, .done), .hangUp(client: client)]
    }

    mutating func receiveMessage(_ number: UInt32, _ json: String, of pair: Pair, at now: Instant) {
        if received[pair.id]?.contains(number) ?? false {
            links.send(.ack(id: number, .shown), to: pair.id)
            return
        }
        let receipt = receipt(of: json, from: pair, at: now)
        if receipt == .shown {
            received[pair.id] = Array((received[pair.id] ?? []).suffix(Self.mostReceived - 1)) + [number]
        }
        links.send(.ack(id: number, receipt), to: pair.id)
    }

    private mutating func receipt(of json: String, from pair: Pair, at now: Instant) -> LinkFrame.Receipt {
        guard pair.rights.contains(.message), var message = try? DeviceMessage(jsonLine: json) else {
            return .notAllowed
        }
        var limit = lineLimits[pair.id] ?? RateLimit(interval: .seconds(1), slack: .seconds(20), from: now)
        guard isLasting || !watchers.isEmpty, now >= limit.earliest else { return .unread }
        limit.note(at: now)
        lineLimits[pair.id] = limit
        message.text = String(String.UnicodeScalarView(message.text.unicodeScalars.prefix(DeviceMessage.longest)))
        if isLasting { outputs.append(.note("\(pair.name): \(message.text)")) }
        for client in watchers.keys {
            outputs.append(.reply(client: client, .message(from: pair.name, message)))
        }
        return .shown
    }

    /// Tells the person.
    mutating func note(_ sentence: String) {
        if isLasting { outputs.append(.note(sentence)) }
        for client in watchers.keys { outputs.append(.reply(client: client, .note(sentence))) }
    }
}
