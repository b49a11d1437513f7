/// How a file's transfer has ended; the numbers are those of RESULT.
package enum TransferEnd: UInt8, Sendable, CaseIterable {
    /// The file is there, and its hash is right.
    case done
    case refused
    case cancelled
    /// The receiver cannot write it, as on a full disk.
    case notWritten
    /// The sender cannot read it, or it has changed meanwhile.
    case notRead
    /// The hash is wrong, or the other side has broken the rules.
    case damaged
    /// The link is gone. What was received stays, and the same offer goes on there.
    case lost
}

/// The sending side of a file. Sans-IO: the owner reads, and hashes all of it.
package struct FileSending {
    package enum Output: Equatable, Sendable {
        case send(LinkFrame)
        /// Read so many bytes there, and call `noteRead`.
        case read(offset: UInt64, count: Int)
        /// Send what lies before this, if anything does, into the hash, too.
        case begins(offset: UInt64)
        /// Finish the hash, and call `noteHash`.
        case hash
        case ended(TransferEnd)
    }

    private enum State {
        case offered
        /// - credit: bytes that may be sent beyond `next`.
        case sending(next: UInt64, credit: UInt64, isReading: Bool)
        case hashing
        case awaiting
        case ended
    }

    package let id: UInt32
    package let offer: LinkFrame.FileOffer
    private var state = State.offered
    private var outputs: [Output]

    package init(id: UInt32, _ offer: LinkFrame.FileOffer) {
        (self.id, self.offer) = (id, offer)
        outputs = [.send(.offer(id: id, offer))]
    }

    package mutating func nextOutput() -> Output? { outputs.isEmpty ? nil : outputs.removeFirst() }

    /// Bytes that were sent; nil before the other side takes the file.
    package var progress: UInt64? {
        switch state {
        case .offered: nil
        case .sending(let next, _, _): next
        case .hashing, .awaiting, .ended: offer.size
        }
    }

    /// - Parameter frame: of this transfer.
    package mutating func receive(_ frame: LinkFrame) {
        switch (state, frame) {
        case (.ended, _): break
        case (_, .cancel): end(.cancelled)
        case (.offered, .take(_, let offset)):
            guard let offset else { return end(.refused) }
            guard offset <= offer.size else { return fail(.damaged) }
            outputs.append(.begins(offset: offset))
            state = .sending(next: offset, credit: 0, isReading: false)
            goOn()
        case (.sending(let next, let credit, let isReading), .credit(_, let bytes)):
            let (sum, isTooMuch) = credit.addingReportingOverflow(UInt64(bytes))
            if isTooMuch { return fail(.damaged) }
            // More than that would wait here.
            let most = UInt64(2 * FileReceiving.window)
            state = .sending(next: next, credit: min(sum, most), isReading: isReading)
            goOn()
        // The last credit may come late.
        case (.hashing, .credit), (.awaiting, .credit): break
        case (_, .result(_, let status)):
            let reason = TransferEnd(rawValue: status) ?? .damaged
            guard case .awaiting = state else { return end(reason == .done ? .damaged : reason) }
            end(reason)
        default: fail(.damaged)
        }
    }

    /// - Parameter bytes: as many as were asked for, or fewer if the file has become shorter; nil if it cannot be read.
    package mutating func noteRead(_ bytes: [UInt8]?) {
        guard case .sending(let next, let credit, true) = state else { return }
        let count = chunk(next, credit)
        guard let bytes, bytes.count == count else { return fail(.notRead) }
        outputs.append(.send(.data(id: id, offset: next, bytes)))
        state = .sending(next: next + UInt64(count), credit: credit - UInt64(count), isReading: false)
        goOn()
    }

    package mutating func noteHash(_ hash: [UInt8]) {
        guard case .hashing = state else { return }
        outputs.append(.send(.done(id: id, hash: hash)))
        state = .awaiting
    }

    package mutating func cancel() { fail(.cancelled) }

    package mutating func linkLost() { end(.lost) }

    private func chunk(_ next: UInt64, _ credit: UInt64) -> Int {
        Int(min(offer.size - next, credit, UInt64(LinkFrame.mostData)))
    }

    private mutating func goOn() {
        guard case .sending(let next, let credit, false) = state else { return }
        if next == offer.size {
            state = .hashing
            outputs.append(.hash)
        } else if case let count = chunk(next, credit), count > 0 {
            state = .sending(next: next, credit: credit, isReading: true)
            outputs.append(.read(offset: next, count: count))
        }
    }

    private mutating func fail(_ reason: TransferEnd) {
        if case .ended = state { return }
        outputs.append(.send(.cancel(id: id)))
        end(reason)
    }

    private mutating func end(_ reason: TransferEnd) {
        if case .ended = state { return }
        state = .ended
        outputs.append(.ended(reason))
    }
}

/// The receiving side of a file. Sans-IO: the owner writes, and hashes all of it.
package struct FileReceiving {
    package enum Output: Equatable, Sendable {
        case send(LinkFrame)
        /// Write and hash this, and call `noteWritten`.
        case write(offset: UInt64, [UInt8])
        /// Compare the hash, give the file its name, and call `noteDone`.
        case complete(hash: [UInt8])
        case ended(TransferEnd)
    }

    /// How much may be on its way.
    package static let window = 1 << 20

    private enum State {
        case offered
        /// - received: the offset of the next byte.
        /// - allowed: the offset up to which may be sent.
        /// - written: the offset of the next byte that is to be written.
        case receiving(received: UInt64, allowed: UInt64, written: UInt64)
        case completing
        case ended
    }

    package let id: UInt32
    package let offer: LinkFrame.FileOffer
    private var state = State.offered
    private var outputs: [Output] = []

    package init(id: UInt32, _ offer: LinkFrame.FileOffer) { (self.id, self.offer) = (id, offer) }

    package mutating func nextOutput() -> Output? { outputs.isEmpty ? nil : outputs.removeFirst() }

    /// Bytes that are written; nil before the file is taken.
    package var progress: UInt64? {
        switch state {
        case .offered: nil
        case .receiving(_, _, let written): written
        case .completing, .ended: offer.size
        }
    }

    /// Takes the file.
    ///
    /// - Parameter offset: bytes that are here already.
    package mutating func take(from offset: UInt64) {
        guard case .offered = state else { return }
        let offset = min(offset, offer.size)
        let window = min(UInt64(Self.window), offer.size - offset)
        state = .receiving(received: offset, allowed: offset + window, written: offset)
        outputs.append(.send(.take(id: id, offset: offset)))
        if window > 0 { outputs.append(.send(.credit(id: id, bytes: UInt32(window)))) }
    }

    package mutating func refuse() {
        guard case .offered = state else { return }
        outputs.append(.send(.take(id: id, offset: nil)))
        end(.refused)
    }

    /// - Parameter frame: of this transfer.
    package mutating func receive(_ frame: LinkFrame) {
        switch (state, frame) {
        case (.ended, _): break
        case (_, .cancel): end(.cancelled)
        case (.receiving(let received, let allowed, let written), .data(_, let offset, let bytes)):
            guard offset == received, !bytes.isEmpty, UInt64(bytes.count) <= allowed - received else {
                return fail(.damaged)
            }
            state = .receiving(received: received + UInt64(bytes.count), allowed: allowed, written: written)
            outputs.append(.write(offset: offset, bytes))
        case (.receiving(let received, _, _), .done(_, let hash)):
            guard received == offer.size else { return fail(.damaged) }
            state = .completing
            outputs.append(.complete(hash: hash))
        default: fail(.damaged)
        }
    }

    /// - Parameter count: bytes that are written; more may come then.
    package mutating func noteWritten(_ count: Int) {
        guard case .receiving(let received, let allowed, let written) = state else { return }
        let done = written + UInt64(count)
        let wanted = done + min(UInt64(Self.window), offer.size - done)
        // Half a window at once, or the rest.
        guard wanted - allowed >= UInt64(Self.window) / 2 || wanted == offer.size && wanted > allowed else {
            state = .receiving(received: received, allowed: allowed, written: done)
            return
        }
        state = .receiving(received: received, allowed: wanted, written: done)
        outputs.append(.send(.credit(id: id, bytes: UInt32(wanted - allowed))))
    }

    package mutating func noteDone(isRight: Bool) {
        guard case .completing = state else { return }
        finish(isRight ? .done : .damaged)
    }

    /// The disk is full, or such.
    package mutating func noteNotWritten() {
        if case .ended = state { return }
        finish(.notWritten)
    }

    package mutating func cancel() { fail(.cancelled) }

    package mutating func linkLost() { end(.lost) }

    /// The other side is told by RESULT.
    private mutating func finish(_ reason: TransferEnd) {
        outputs.append(.send(.result(id: id, status: reason.rawValue)))
        end(reason)
    }

    private mutating func fail(_ reason: TransferEnd) {
        if case .ended = state { return }
        outputs.append(.send(.cancel(id: id)))
        end(reason)
    }

    private mutating func end(_ reason: TransferEnd) {
        if case .ended = state { return }
        state = .ended
        outputs.append(.ended(reason))
    }
}
