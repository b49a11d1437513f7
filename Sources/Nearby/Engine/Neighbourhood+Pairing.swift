import Discovery
import Link
import Pairing
import Time

/// Pairing, on both sides.
extension Neighbourhood {
    // MARK: - The side that shows a code

    mutating func show(_ isPhotographed: Bool, for client: Int, at now: Instant) {
        guard shower == nil else {
            return fail(client, .refused, "another command shows a code already: use that one, or end it")
        }
        guard let code = door.open(at: now, isPhotographed ? .photographed() : .typed()) else {
            return fail(client, .refused, "too many wrong codes came: try again in a quarter of an hour")
        }
        (shower, untoldCode) = (client, code)
        announce()
    }

    mutating func tell(_ code: PairingCode, at now: Instant) {
        guard let shower, let end = door.deadline else { return }
        let links = ownPlaces.map { "\(PairingLink($0, token: door.token, code: code))" }
        let seconds = max(0, Int((end - now).seconds.rounded(.up)))
        outputs.append(.reply(client: shower, .code(text: code.shown, links: links, seconds: seconds)))
    }

    mutating func codeExpired(at now: Instant) {
        door.expire(at: now)
        endShowing { .failed(.unavailable, sentence: "nobody took the code in \($0) s: show another one") }
    }

    mutating func endShowing(_ reply: (Int) -> NearbyReply) {
        if let shower {
            outputs += [
                .reply(client: shower, reply(Int(PairingDoor.codeLifetime.seconds))), .hangUp(client: shower),
            ]
        }
        shower = nil
        door.close()
        announce()
    }

    /// The command that shows a code is gone.
    mutating func stopShowing() {
        shower = nil
        door.close()
        announce()
    }

    mutating func admit(_ number: Int, _ hello: PairingFrame.Hello, at now: Instant) {
        do throws(PairingFailure) {
            let attempt = try door.admit(hello.token, at: now)
            attempts[number] = attempt
            links.pair(number, attempt.code, at: now)
        } catch {
            links.refuse(number, error, at: now)
        }
    }

    /// The run on a link has ended; if it had the code's only try, the next code is shown.
    private mutating func endAttempt(_ number: Int, isPaired: Bool, at now: Instant) {
        guard let attempt = attempts.removeValue(forKey: number) else { return }
        let next = door.noteEnd(attempt, isPaired: isPaired, at: now)
        announce()
        if let next { return tell(next, at: now) }
        guard door.token == nil, !isPaired else { return }
        endShowing { _ in .failed(.refused, sentence: "too many wrong codes came: try again in a quarter of an hour") }
    }

    // MARK: - Both sides

    /// - Parameter client: the command that has the code; nil if this side shows it.
    mutating func handle(_ output: PairingSession.Output, on number: Int, of client: Int?, at now: Instant) {
        switch output {
        case .send, .usesCode: break
        case .tries:
            guard let attempt = attempts[number], door.claim(attempt, at: now) else {
                return links.failPairing(number, .busy, at: now)
            }
            links.confirm(number, at: now)
        case .wrongCode:
            // Whoever typed it hears that of the other side.
            if client == nil, let shower { outputs.append(.reply(client: shower, .wrongCode)) }
        case .store(let new):
            do throws(PairStoreError) {
                stored[number] = try store.add(new, at: clock())
                reload(at: now)
                links.noteStored(number, true, at: now)
            } catch {
                note("\(error)")
                links.noteStored(number, false, at: now)
            }
        case .paired: endPairing(number, of: client, isConfirmed: true, at: now)
        case .unconfirmed: endPairing(number, of: client, isConfirmed: false, at: now)
        case .failed(let failure):
            if let pair = stored.removeValue(forKey: number) { change(pair.id, at: now) { _ in nil } }
            endAttempt(number, isPaired: false, at: now)
            guard let client else { return }
            if failure == .wrongCode {
                outputs.append(.reply(client: client, .wrongCode))
            } else {
                fail(client, .refused, Self.sentence(failure))
            }
        }
    }

    private mutating func endPairing(_ number: Int, of client: Int?, isConfirmed: Bool, at now: Instant) {
        guard let pair = stored.removeValue(forKey: number) else { return }
        let reply = NearbyReply.paired(name: pair.name, isConfirmed: isConfirmed)
        if let client { outputs += [.reply(client: client, reply), .hangUp(client: client)] }
        guard attempts[number] != nil else { return }
        endAttempt(number, isPaired: true, at: now)
        endShowing { _ in reply }
    }

    static func sentence(_ failure: PairingFailure) -> String {
        switch failure {
        case .wrongCode: "the code is wrong"
        case .busy: "another device is trying that code: type the next one"
        case .late: "the other device did not answer in time: try again"
        case .refused: "the other device did not agree: see whether it still shows a code"
        case .version: "the other device has another version of Oriel: update both"
        }
    }
}
