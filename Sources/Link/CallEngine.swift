package import Pairing
package import Time

/// The calls of this device with its pairs: one at a time. Sans-IO.
///
/// Links between pairs keep the order of messages, and lose those on their way when they break. At a new link, both sides say where they
/// stand (`CallMessage.state`), so that they agree again.
///
/// Invariant: each request ends once, with one reason; and of two devices with a link, neither believes for long in a call that the other
/// does not know.
package struct CallEngine {
    /// A call as people here see it, invited or taken. Of two invitations that cross, one call is made, and both requests become it.
    package typealias Request = Int

    package enum Output: Equatable, Sendable {
        case send(CallMessage, to: PairID)
        /// Somebody calls: ask the person.
        case rings(Request, from: PairID, note: String)
        /// The device that is called has asked its person.
        case isRinging(Request, at: PairID)
        /// Both want it: connect the media, and then call `noteStarted`.
        case begins(Request, CallID, with: PairID, isOurs: Bool)
        case started(Request)
        case ended(Request, CallEnd, parameters: [String: String])
    }

    package static let times = 1...120
    /// From the answer to the first picture.
    package static let patience = Duration.seconds(20)
    /// How long a call rings without a link to the caller.
    package static let linkPatience = Duration.seconds(10)
    private static let mostInvited = 8
    /// Of all parameters of an end, as JSON, in bytes.
    private static let mostParameters = 32_768
    private static let mostEnded = 32

    private struct Invitation {
        let id: CallID
        let request: Request
        let note: String
        let seconds: Int
        var invited: [PairID]
        let until: Instant
    }

    private struct Call {
        let id: CallID
        let request: Request
        let other: PairID
        /// Whether this device has called.
        let isOurs: Bool
    }

    private enum State {
        case idle
        case inviting(Invitation)
        /// - unlinked: until when a new link is waited for; nil while there is one.
        case ringing(Call, until: Instant, unlinked: Instant?)
        case starting(Call, until: Instant)
        case live(Call)
    }

    private var state = State.idle
    private var linked: Set<PairID> = []
    private var lastRequest = 0
    /// The newest calls that have ended, so that a message that comes late does not begin one of them again.
    private var ended: [(id: CallID, reason: CallEnd)] = []
    private var outputs: [Output] = []
    private let makeID: @Sendable () -> CallID

    package init(makeID: @escaping @Sendable () -> CallID = { .random() }) { self.makeID = makeID }

    package mutating func nextOutput() -> Output? { outputs.isEmpty ? nil : outputs.removeFirst() }

    /// When to call `poll`; nil for never.
    package var deadline: Instant? {
        switch state {
        case .idle, .live: nil
        case .inviting(let invitation): invitation.until
        case .starting(_, let until): until
        case .ringing(_, let until, let unlinked): earliest(until, unlinked)
        }
    }

    // MARK: - People

    /// Calls one of several devices: the first that accepts.
    ///
    /// - Parameters:
    ///   - note: up to `LinkFrame.longestText`.
    ///   - seconds: one of `times`.
    /// - Returns: nil while there is a call already.
    package mutating func invite(_ devices: [PairID], note: String, seconds: Int, at now: Instant) -> Request? {
        guard case .idle = state, 1...Self.mostInvited ~= devices.count, Self.times ~= seconds,
            note.utf8.count <= LinkFrame.longestText
        else { return nil }
        lastRequest += 1
        let invitation = Invitation(
            id: makeID(),
            request: lastRequest,
            note: note,
            seconds: seconds,
            invited: devices,
            until: now + .seconds(seconds)
        )
        state = .inviting(invitation)
        for device in devices where linked.contains(device) { send(Self.message(invitation), to: device) }
        return lastRequest
    }

    /// - Returns: false if it does not ring any more.
    package mutating func accept(_ request: Request, at now: Instant) -> Bool {
        guard case .ringing(let call, _, _) = state, call.request == request else { return false }
        send(.accept(call.id), to: call.other)
        begin(call, at: now)
        return true
    }

    /// Ends a call in whichever state: rejects, cancels or hangs up.
    ///
    /// - Parameter parameters: for the other side; left out if they are too long.
    /// - Returns: false if it has ended already.
    package mutating func end(_ request: Request, parameters: [String: String] = [:]) -> Bool {
        switch state {
        case .inviting(let invitation) where invitation.request == request:
            for device in invitation.invited { send(.cancel(invitation.id, .cancelled), to: device) }
            finish(invitation.id, request, .cancelled)
        case .ringing(let call, _, _) where call.request == request:
            send(.reject(call.id, .rejected), to: call.other)
            finish(call.id, request, .rejected)
        case .starting(let call, _) where call.request == request, .live(let call) where call.request == request:
            let count = parameters.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count + 8 }
            let told = count <= Self.mostParameters ? parameters : [:]
            send(.end(call.id, .hungUp, parameters: told), to: call.other)
            finish(call.id, request, .hungUp, parameters)
        default: return false
        }
        return true
    }

    /// The media flows.
    package mutating func noteStarted(_ request: Request) {
        guard case .starting(let call, _) = state, call.request == request else { return }
        state = .live(call)
        outputs.append(.started(request))
    }

    /// The media is lost, or never came.
    package mutating func noteMediaLost(_ request: Request) {
        switch state {
        case .starting(let call, _) where call.request == request, .live(let call) where call.request == request:
            send(.end(call.id, .lost, parameters: [:]), to: call.other)
            finish(call.id, request, .lost)
        default: break
        }
    }

    // MARK: - Links

    package mutating func linkUp(_ device: PairID) {
        linked.insert(device)
        if case .ringing(let call, let until, _) = state, call.other == device {
            state = .ringing(call, until: until, unlinked: nil)
        }
        send(.state(standing(with: device)), to: device)
    }

    package mutating func linkDown(_ device: PairID, at now: Instant) {
        linked.remove(device)
        if case .ringing(let call, let until, _) = state, call.other == device {
            state = .ringing(call, until: until, unlinked: now + Self.linkPatience)
        }
    }

    /// A device is no pair any more.
    package mutating func forget(_ device: PairID) {
        if let call = present, call.other == device { finish(call.id, call.request, .lost) }
        withdraw(device, because: .lost)
        linked.remove(device)
    }

    package mutating func poll(at now: Instant) {
        switch state {
        case .idle, .live: break
        case .inviting(let invitation) where now >= invitation.until:
            for device in invitation.invited { send(.cancel(invitation.id, .unanswered), to: device) }
            finish(invitation.id, invitation.request, .unanswered)
        case .ringing(let call, let until, let unlinked) where now >= until || unlinked.map { now >= $0 } ?? false:
            send(.reject(call.id, .unanswered), to: call.other)
            finish(call.id, call.request, unlinked == nil ? .unanswered : .lost)
        case .starting(let call, let until) where now >= until:
            send(.end(call.id, .failed, parameters: [:]), to: call.other)
            finish(call.id, call.request, .failed)
        default: break
        }
    }

    // MARK: - The other side

    package mutating func receive(_ message: CallMessage, from device: PairID, at now: Instant) {
        switch message {
        case .invite(let id, let note, let seconds): take(id, note, seconds, from: device, at: now)
        case .ringing(let id):
            if case .inviting(let invitation) = state, invitation.id == id, invitation.invited.contains(device) {
                outputs.append(.isRinging(invitation.request, at: device))
            }
        case .accept(let id): takeAccept(id, from: device, at: now)
        case .reject(let id, let reason):
            if case .inviting(let invitation) = state, invitation.id == id { withdraw(device, because: reason) }
        case .cancel(let id, let reason), .end(let id, let reason, _):
            var parameters: [String: String] = [:]
            if case .end(_, _, let said) = message { parameters = said }
            guard let call = call(id, with: device) else { return }
            finish(id, call.request, reason, parameters)
        case .state(let standing): compare(standing, with: device, at: now)
        }
    }

    private mutating func take(_ id: CallID, _ note: String, _ seconds: Int, from device: PairID, at now: Instant) {
        if let former = ended.first(where: { $0.id == id }) { return send(.reject(id, former.reason), to: device) }
        let seconds = min(max(seconds, Self.times.lowerBound), Self.times.upperBound)
        switch state {
        case .idle:
            lastRequest += 1
            let call = Call(id: id, request: lastRequest, other: device, isOurs: false)
            // The caller's own time ends first.
            state = .ringing(call, until: now + .seconds(seconds) + .seconds(2), unlinked: nil)
            send(.ringing(id), to: device)
            outputs.append(.rings(lastRequest, from: device, note: note))
        case .inviting(let invitation) where invitation.invited.contains(device):
            // Both call each other: the lower one is the call, and the other side does the same.
            if invitation.id <= id { return }
            withdraw(invitation, but: device)
            remember(invitation.id, .elsewhere)
            send(.accept(id), to: device)
            begin(Call(id: id, request: invitation.request, other: device, isOurs: false), at: now)
        case .ringing(let call, _, _) where call.id == id && call.other == device: send(.ringing(id), to: device)
        case .starting(let call, _) where call.id == id && call.other == device: send(.accept(id), to: device)
        default: send(.reject(id, .busy), to: device)
        }
    }

    private mutating func takeAccept(_ id: CallID, from device: PairID, at now: Instant) {
        if case .inviting(let invitation) = state, invitation.id == id, invitation.invited.contains(device) {
            withdraw(invitation, but: device)
            begin(Call(id: id, request: invitation.request, other: device, isOurs: true), at: now)
        } else if call(id, with: device) == nil {
            // Too late, or another one was faster.
            let isAnswered = present?.id == id
            send(.cancel(id, ended.first { $0.id == id }?.reason ?? (isAnswered ? .elsewhere : .cancelled)), to: device)
        }
    }

    /// What the other side believes, at a new link.
    private mutating func compare(_ standing: CallStanding?, with device: PairID, at now: Instant) {
        let (id, phase) = (standing?.id, standing?.phase)
        switch state {
        case .inviting(let invitation) where invitation.invited.contains(device):
            if id == invitation.id, phase == .begun {
                takeAccept(invitation.id, from: device, at: now)
            } else if id == invitation.id, phase == .ringing {
                outputs.append(.isRinging(invitation.request, at: device))
            } else if id != invitation.id {
                send(Self.message(invitation), to: device)
            }
        case .ringing(let call, _, _) where call.other == device:
            if id != call.id || phase != .inviting { finish(call.id, call.request, .cancelled) }
        case .starting(let call, _) where call.other == device, .live(let call) where call.other == device:
            if id == call.id, phase == .inviting {
                send(.accept(call.id), to: device)
            } else if id != call.id || phase != .begun {
                finish(call.id, call.request, .lost)
            }
        default: break
        }
    }

    // MARK: - Steps

    private func standing(with device: PairID) -> CallStanding? {
        switch state {
        case .inviting(let invitation) where invitation.invited.contains(device): CallStanding(invitation.id, .inviting)
        case .ringing(let call, _, _) where call.other == device: CallStanding(call.id, .ringing)
        case .starting(let call, _) where call.other == device, .live(let call) where call.other == device:
            CallStanding(call.id, .begun)
        default: nil
        }
    }

    /// The call that this device has; not one that it only invites to.
    private var present: Call? {
        switch state {
        case .ringing(let call, _, _), .starting(let call, _), .live(let call): call
        case .idle, .inviting: nil
        }
    }

    /// The call of an identity, if it is with a device.
    private func call(_ id: CallID, with device: PairID) -> Call? {
        present.flatMap { $0.id == id && $0.other == device ? $0 : nil }
    }

    /// A device does not take the invitation.
    private mutating func withdraw(_ device: PairID, because reason: CallEnd) {
        guard case .inviting(var invitation) = state, invitation.invited.contains(device) else { return }
        invitation.invited.removeAll { $0 == device }
        state = .inviting(invitation)
        if invitation.invited.isEmpty { finish(invitation.id, invitation.request, reason) }
    }

    private mutating func withdraw(_ invitation: Invitation, but device: PairID) {
        for other in invitation.invited where other != device { send(.cancel(invitation.id, .elsewhere), to: other) }
    }

    private mutating func begin(_ call: Call, at now: Instant) {
        state = .starting(call, until: now + Self.patience)
        outputs.append(.begins(call.request, call.id, with: call.other, isOurs: call.isOurs))
    }

    private mutating func finish(
        _ id: CallID,
        _ request: Request,
        _ reason: CallEnd,
        _ parameters: [String: String] = [:]
    ) {
        state = .idle
        remember(id, reason)
        outputs.append(.ended(request, reason, parameters: parameters))
    }

    private mutating func remember(_ id: CallID, _ reason: CallEnd) {
        ended.append((id, reason))
        if ended.count > Self.mostEnded { ended.removeFirst() }
    }

    private mutating func send(_ message: CallMessage, to device: PairID) {
        // A device without a link is told at the next one (`linkUp`).
        if linked.contains(device) { outputs.append(.send(message, to: device)) }
    }

    private static func message(_ invitation: Invitation) -> CallMessage {
        .invite(invitation.id, note: invitation.note, seconds: invitation.seconds)
    }
}
