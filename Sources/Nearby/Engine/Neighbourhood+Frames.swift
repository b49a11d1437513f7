import Discovery
import Link
import Pairing
import Time

/// What pairs send.
extension Neighbourhood {
    mutating func handle(_ frame: LinkFrame, of id: PairID, at now: Instant) {
        guard let pair = pair(id), pair.state != .unpaired || frame == .unpair else { return }
        switch frame {
        case .unpair:
            if pair.state == .unpaired { dropErrands(for: id) } else { note("\(pair.name) has ended the pairing") }
            links.unlink(id, .unpaired, at: now)
            change(id, at: now) { _ in nil }
            renewResolvingKey()
        case .key(let key, let port):
            var place: Endpoint?
            if port != 0, case .connected(let peer, _) = links.state(of: id) {
                place = Endpoint(host: peer.host, interface: peer.interface, port: port)
            }
            let time = clock()
            let isKnown = place.map { pair.addresses.first == "\($0)" } ?? true
            // A device that is this one itself, or passes for another one, is not recognised.
            let isTaken = pairs.contains { $0.id != id && $0.resolvingKey == key } || links.resolvingKey == key
            guard !isTaken, key != pair.resolvingKey || !isKnown, mayStore(for: id, at: now) else { return }
            change(id, at: now) { pair in
                var pair = pair
                pair.resolvingKey = key
                if let place { pair.note(address: "\(place)", at: time) }
                return pair
            }
        case .message(let number, let json): receiveMessage(number, json, of: pair, at: now)
        case .ack(let number, let receipt):
            guard let sender = messages[number], sender.pair == id else { return }
            messages[number] = nil
            switch receipt {
            case .shown: finish(sender.client)
            case .notAllowed: fail(sender.client, .refused, "\(pair.name) takes no lines of this device")
            case .unread: fail(sender.client, .unavailable, "nobody reads at \(pair.name): try again later")
            }
        case .offer(let number, _), .take(let number, _), .data(let number, _, _), .credit(let number, _),
            .done(let number, _), .result(let number, _), .cancel(let number):
            handleFile(frame, number, of: pair, at: now)
        default: break
        }
    }
}
