extension CallKind {
    /// Rooms on servers that speak Socket.IO.
    package static func room(name: String = "", note: String = "") -> CallKind {
        CallKind(form: "room+https://HOST/ROOM") { text in
            guard text.lowercased().hasPrefix("room+") else { return nil }
            let address = try RoomAddress(parsing: text)
            var plan = CallPlan("room", "\(address)") { _ in
                return { host in try RoomCall(address, name: name, note: note, in: host) }
            }
            plan.receivesPictures = true
            return plan
        }
    }
}
