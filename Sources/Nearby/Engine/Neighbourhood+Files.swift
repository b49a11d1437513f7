import Discovery
import Link
import Pairing
import Sodium
package import Time

/// Files that go to pairs, and come from them.
extension Neighbourhood {
    /// A file that a command sends.
    struct Sending {
        let client: Int
        let pair: PairID
        let file: GivenFile
        let offer: LinkFrame.FileOffer
        /// Nil while the pair is not linked.
        var transfer: FileSending?
        /// Whether the pair was linked before.
        var hasBegun = false
        var toldAt = Instant.start
    }

    /// A file that comes.
    struct Receiving {
        let pair: PairID
        /// Of the pair and the offer.
        let mark: [UInt8]
        var transfer: FileReceiving
        /// Of the whole file, once it is here, or if it was here before.
        var hash: [UInt8]?
        var toldAt = Instant.start
    }

    /// A file that has come. If the link broke then, its sender may not have heard of it, and offers it once more.
    struct Arrived {
        let pair: PairID
        let mark: [UInt8]
        let hash: [UInt8]
        let at: Instant
        var isInDoubt = false
    }

    /// Of one pair.
    private static let mostReceivings = 8
    private static let mostArrived = 64
    /// How long the word that a file has come may be on its way.
    private static let resultTime = Duration.seconds(30)
    /// How long a file is known again whose sender may not have heard that it came.
    private static let doubtTime = Duration.seconds(90)
    /// Between two lines about the progress of a file.
    private static let tellInterval = Duration.milliseconds(250)

    // MARK: - Sending

    package mutating func sendFile(
        _ text: String,
        name: String,
        _ file: GivenFile?,
        for client: Int,
        at now: Instant
    ) {
        guard let id = PairID(text), pair(id)?.state == .paired, let file, let facts = file.facts else {
            return fail(client, .refused, "there is no such pair, or \(name) is no file")
        }
        lastTransfer += 1
        let offer = LinkFrame.FileOffer(
            size: facts.size,
            modified: facts.modified,
            name: String(name.unicodeScalars.prefix(LinkFrame.longestText / 4).map(Character.init))
        )
        sendings[lastTransfer] = Sending(client: client, pair: id, file: file, offer: offer)
        if case .connected = links.state(of: id) {
            beginSendings(to: id, at: now)
        } else {
            search(for: id, at: now)
        }
        settle(at: now)
    }

    /// The pair is linked: what waits for it goes on there.
    mutating func beginSendings(to id: PairID, at now: Instant) {
        guard let pair = pair(id) else { return }
        for (key, sending) in sendings where sending.pair == id && sending.transfer == nil {
            // Both sides number their own: one the odd numbers, one the even.
            lastFile &+= 2
            sendings[key]!.transfer = FileSending(id: lastFile | (pair.hasBegun ? 1 : 0), sending.offer)
            outputs.append(.file(.send(key, sending.file)))
            changeSending(key, at: now) { _ in }
        }
    }

    /// The pair is not there: new files fail, and those that were on their way wait.
    mutating func dropSendings(to id: PairID) {
        for (key, sending) in sendings where sending.pair == id && sending.transfer == nil && !sending.hasBegun {
            sendings[key] = nil
            fail(sending.client, .unavailable, "\(pair(id)?.name ?? "the device") cannot be reached now")
        }
    }

    private mutating func changeSending(_ key: Int, at now: Instant, _ body: (inout FileSending) -> Void) {
        guard var transfer = sendings[key]?.transfer.take() else { return }
        body(&transfer)
        var end: TransferEnd?
        while let output = transfer.nextOutput() {
            switch output {
            case .send(let frame): links.send(frame, to: sendings[key]!.pair)
            case .read(let offset, let count): outputs.append(.file(.read(key, offset: offset, count: count)))
            case .begins(let offset): if offset > 0 { outputs.append(.file(.skip(key, to: offset))) }
            case .hash: outputs.append(.file(.hash(key)))
            case .ended(let reason): end = reason
            }
        }
        if end == nil, let progress = transfer.progress { tellSending(key, progress, at: now) }
        sendings[key]?.transfer = transfer
        if let end { endSending(key, end) }
    }

    private mutating func tellSending(_ key: Int, _ progress: UInt64, at now: Instant) {
        guard let sending = sendings[key], now - sending.toldAt >= Self.tellInterval else { return }
        sendings[key]!.toldAt = now
        let reply = NearbyReply.progress(done: progress, size: sending.offer.size)
        outputs.append(.reply(client: sending.client, reply))
    }

    private mutating func endSending(_ key: Int, _ end: TransferEnd) {
        guard let sending = sendings[key] else { return }
        outputs.append(.file(.close(key, keepsPart: false)))
        let name = pair(sending.pair)?.name ?? "the device"
        if end == .lost {
            // The same offer goes on at the next link.
            // Results that are on their way are of the old number.
            lastTransfer += 1
            sendings[lastTransfer] = sendings.removeValue(forKey: key)
            (sendings[lastTransfer]!.transfer, sendings[lastTransfer]!.hasBegun) = (nil, true)
            outputs.append(.reply(client: sending.client, .note("\(name) is not connected: waiting for it")))
            searches[sending.pair] = searches[sending.pair] ?? .start
            return
        }
        sendings[key] = nil
        switch end {
        case .done: finish(sending.client)
        case .refused: fail(sending.client, .refused, "\(name) takes no files of this device")
        case .cancelled: fail(sending.client, .refused, "\(name) has cancelled it")
        case .notWritten: fail(sending.client, .failed, "\(name) cannot write it: see whether its disk is full")
        case .notRead: fail(sending.client, .failed, "it cannot be read any more, or has become shorter: send it again")
        case .damaged: fail(sending.client, .failed, "it has changed on its way: send it again")
        case .lost: break
        }
    }

    /// The command is gone.
    mutating func cancelSendings(of client: Int, at now: Instant) {
        for (key, sending) in sendings where sending.client == client {
            changeSending(key, at: now) { $0.cancel() }
            if sendings.removeValue(forKey: key) != nil { outputs.append(.file(.close(key, keepsPart: false))) }
        }
    }

    // MARK: - Receiving

    private mutating func receiveOffer(_ id: UInt32, _ offer: LinkFrame.FileOffer, of pair: Pair, at now: Instant) {
        lastTransfer += 1
        let key = lastTransfer
        var transfer = FileReceiving(id: id, offer)
        let count = receivings.values.count { $0.pair == pair.id }
        guard pair.rights.contains(.files), takesFiles, count < Self.mostReceivings else {
            transfer.refuse()
            while case .send(let frame)? = transfer.nextOutput() { links.send(frame, to: pair.id) }
            return
        }
        // The same offer of the same pair finds its part again.
        let mark = Hash.sha256(pair.id.bytes + Array("\(offer.size) \(offer.modified) \(offer.name)".utf8))
        let known = arrived.firstIndex { $0.isInDoubt && $0.mark == mark && now - $0.at < Self.doubtTime }
        let hash = known.map { arrived.remove(at: $0).hash }
        receivings[key] = Receiving(pair: pair.id, mark: mark, transfer: transfer, hash: hash)
        if hash != nil { return changeReceiving(key, at: now) { $0.take(from: offer.size) } }
        let part = "\(FileName(offer.name)).\(Array(mark.prefix(4)).hexadecimal).part"
        outputs.append(.file(.receive(key, part: part, size: offer.size)))
    }

    private mutating func changeReceiving(_ key: Int, at now: Instant, _ body: (inout FileReceiving) -> Void) {
        guard var receiving = receivings[key] else { return }
        body(&receiving.transfer)
        var end: TransferEnd?
        while let output = receiving.transfer.nextOutput() {
            switch output {
            case .send(let frame): links.send(frame, to: receiving.pair)
            case .write(let offset, let bytes): outputs.append(.file(.write(key, offset: offset, bytes)))
            case .complete(let hash):
                if let known = receiving.hash {
                    receiving.transfer.noteDone(isRight: known == hash)
                    continue
                }
                receiving.hash = hash
                let name = FileName(receiving.transfer.offer.name)
                outputs.append(.file(.complete(key, hash: hash, name)))
            case .ended(let reason): end = reason
            }
        }
        if end == nil, let progress = receiving.transfer.progress, now - receiving.toldAt >= Self.tellInterval {
            receiving.toldAt = now
            tell(of: receiving, received: progress)
        }
        receivings[key] = end == nil ? receiving : nil
        guard let end, end != .done else { return }
        // A part that was cut off is gone on with; a wrong one is of no use.
        outputs.append(.file(.close(key, keepsPart: end == .lost)))
        if end != .lost { tell(of: receiving, problem: Self.problem(end)) }
    }

    private static func problem(_ end: TransferEnd) -> String {
        switch end {
        case .cancelled: "cancelled"
        case .notWritten: "it cannot be written: see whether the disk is full"
        case .damaged: "it has changed on its way"
        default: "it did not come"
        }
    }

    private mutating func tell(
        of receiving: Receiving,
        received: UInt64 = 0,
        path: String? = nil,
        problem: String? = nil
    ) {
        let from = pair(receiving.pair)?.name ?? ""
        let name = FileName(receiving.transfer.offer.name).description
        let news = NearbyFile(
            from: from,
            name: name,
            size: receiving.transfer.offer.size,
            received: received,
            path: path,
            problem: problem
        )
        for client in watchers.keys { outputs.append(.reply(client: client, .file(news))) }
        if isLasting, path != nil || problem != nil { outputs.append(.note(news.sentence)) }
    }

    /// Without a link, what was received stays.
    mutating func cutTransfers(of id: PairID, at now: Instant) {
        arrived.removeAll { $0.pair == id && !$0.isInDoubt && now - $0.at >= Self.resultTime }
        for index in arrived.indices where arrived[index].pair == id { arrived[index].isInDoubt = true }
        for (key, sending) in sendings where sending.pair == id { changeSending(key, at: now) { $0.linkLost() } }
        // One that is whole gets its name.
        for (key, receiving) in receivings where receiving.pair == id && receiving.hash == nil {
            changeReceiving(key, at: now) { $0.linkLost() }
        }
    }

    // MARK: - Frames and files

    mutating func handleFile(_ frame: LinkFrame, _ number: UInt32, of pair: Pair, at now: Instant) {
        if case .offer(_, let offer) = frame {
            let isKnown = receivings.values.contains { $0.pair == pair.id && $0.transfer.id == number }
            if !isKnown { receiveOffer(number, offer, of: pair, at: now) }
            return
        }
        if let key = receivings.first(where: { $0.value.pair == pair.id && $0.value.transfer.id == number })?.key {
            changeReceiving(key, at: now) { $0.receive(frame) }
        } else if let key = sendings.first(where: { $0.value.pair == pair.id && $0.value.transfer?.id == number })?.key
        {
            changeSending(key, at: now) { $0.receive(frame) }
        }
    }

    /// The worker has done something.
    package mutating func note(_ result: FileResult, at now: Instant) {
        switch result {
        case .read(let key, let bytes): changeSending(key, at: now) { $0.noteRead(bytes) }
        case .hash(let key, let hash): changeSending(key, at: now) { $0.noteHash(hash) }
        case .opened(let key, let offset): changeReceiving(key, at: now) { $0.take(from: offset) }
        case .written(let key, let count): changeReceiving(key, at: now) { $0.noteWritten(count) }
        case .completed(let key, let path):
            let receiving = receivings[key]
            changeReceiving(key, at: now) { $0.noteDone(isRight: path != nil) }
            guard let receiving, let path else { break }
            var new = Arrived(pair: receiving.pair, mark: receiving.mark, hash: receiving.hash ?? [], at: now)
            if case .connected = links.state(of: receiving.pair) {} else { new.isInDoubt = true }
            arrived = (arrived + [new]).suffix(Self.mostArrived)
            tell(of: receiving, received: receiving.transfer.offer.size, path: path)
        case .failed(let key, _): changeReceiving(key, at: now) { $0.noteNotWritten() }
        }
        settle(at: now)
    }
}
