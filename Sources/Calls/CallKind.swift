/// A kind of call: the form of its addresses, and the making of a call.
package struct CallKind: Sendable {
    /// How people write it, such as `whip+https://HOST/PATH`.
    let form: String
    /// Nil for an address of another kind.
    let plan: @Sendable (_ address: String) throws -> CallPlan?
}

/// What a call has beside its address.
package struct CallSettings: Sendable {
    /// By names of its kind, such as `whipToken`.
    package let texts: [String: String]
    /// The texts at any later time, as secrets may be renewed. Takes up to a second.
    package let current: @Sendable () -> [String: String]
    /// Whether a sender begins with the call, and has no sandbox yet: names may be looked up, and a thread started that may write files.
    package var isOfStart = false

    package init(_ texts: [String: String] = [:], current: (@Sendable () -> [String: String])? = nil) {
        (self.texts, self.current) = (texts, current ?? { texts })
    }

    /// With other texts, which are never renewed.
    package func adding(_ more: [String: String]) -> CallSettings {
        var settings = CallSettings(texts.merging(more) { $1 }) { [current] in current().merging(more) { $1 } }
        settings.isOfStart = isOfStart
        return settings
    }
}

/// A call that may begin. Two are the same if a command line has them alike.
package struct CallPlan: Sendable, Equatable, CustomStringConvertible {
    /// Begins the call. May wait for names to be looked up.
    package typealias Begin = @Sendable (CallHost) throws -> any Call

    /// The kind, in a word.
    package let kind: String
    /// For people, without possible secrets of an address.
    package let description: String
    /// As a command line has it.
    package let argument: String
    /// Whether it accepts connections, and prints its address.
    package var listens = false
    /// Whether its server may name relays, to which TLS may lead.
    package var namesRelays = false
    /// Whether the other side may show its picture.
    package var receivesPictures = false
    /// Whether it has a thread, at the sender's start, that may write files until the call has begun.
    package var writesFiles = false
    /// The server that secrets of the kind are for; empty for a kind without secrets.
    package var server = ""
    /// Why a command cannot end it; nil if it can.
    package var refusalToLeave: String?
    /// Prepares the call. Throws a `CallEnd`.
    package let prepare: @Sendable (_ settings: CallSettings) throws -> Begin

    init(
        _ kind: String,
        _ description: String,
        argument: String? = nil,
        prepare: @escaping @Sendable (CallSettings) throws -> Begin
    ) {
        (self.kind, self.description, self.argument) = (kind, description, argument ?? description)
        self.prepare = prepare
    }

    package static func == (one: Self, other: Self) -> Bool { one.argument == other.argument }
}

package struct CallKinds: Sendable {
    /// Characters of the longest name.
    private static let longest = 2000

    let all: [CallKind]

    package init(_ all: [CallKind]) { self.all = all }

    package var forms: String {
        let forms = all.map(\.form)
        return forms.dropLast().joined(separator: ", ") + ", or " + (forms.last ?? "")
    }

    /// - Throws: a `CallEnd`.
    package func plan(_ text: String) throws -> CallPlan {
        guard text.utf8.count <= Self.longest else {
            throw CallEnd(.failed, "a call has a name of \(Self.longest) characters at the most")
        }
        for kind in all { if let plan = try kind.plan(text) { return plan } }
        if ["http:", "https:"].contains(where: text.lowercased().hasPrefix) {
            // It may hold a secret.
            throw CallEnd(
                .failed,
                "a web address alone is no call: write whip+ before a media server's, room+ before a room's"
            )
        }
        throw CallEnd(.failed, "\(text) is no call: write \(forms)")
    }
}
