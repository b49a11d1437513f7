import CXCB

/// The server's extensions, with their versions and the numbers of their first events; nil for missing ones.
struct XExtensions {
    struct Info {
        let opcode: UInt8
        let firstEvent: UInt8
        let version: (major: UInt32, minor: UInt32)
    }

    var sharedMemory: Info?
    var damage: Info?
    var randr: Info?
    var fixes: Info?
    /// XInput 2.
    var input: Info?
    var composite: Info?
    var resources: Info?
}

extension XConnection {
    func queryExtensions() throws(X11Error) -> XExtensions {
        // Once a later answer has come, the prefetched ones have too, and reading them cannot block.
        oriel_xcb_prefetch_extensions(raw)
        try synchronize()
        var found = XExtensions()
        found.sharedMemory = try info(oriel_xcb_shm(raw), xcb_shm_query_version_reply_t.self) {
            ("ShmQueryVersion", xcb_shm_query_version(raw).sequence, \.major_version, \.minor_version)
        }
        found.fixes = try info(oriel_xcb_xfixes(raw), xcb_xfixes_query_version_reply_t.self) {
            ("XFixesQueryVersion", xcb_xfixes_query_version(raw, 4, 0).sequence, \.major_version, \.minor_version)
        }
        found.damage = try info(oriel_xcb_damage(raw), xcb_damage_query_version_reply_t.self) {
            ("DamageQueryVersion", xcb_damage_query_version(raw, 1, 1).sequence, \.major_version, \.minor_version)
        }
        found.randr = try info(oriel_xcb_randr(raw), xcb_randr_query_version_reply_t.self) {
            ("RRQueryVersion", xcb_randr_query_version(raw, 1, 5).sequence, \.major_version, \.minor_version)
        }
        // 2.1 is the first version whose raw events come even while another program has grabbed the pointer.
        found.input = try info(oriel_xcb_input(raw), xcb_input_xi_query_version_reply_t.self) {
            ("XIQueryVersion", xcb_input_xi_query_version(raw, 2, 1).sequence, \.major_version, \.minor_version)
        }
        found.composite = try info(oriel_xcb_composite(raw), xcb_composite_query_version_reply_t.self) {
            ("CompositeQueryVersion", xcb_composite_query_version(raw, 0, 4).sequence, \.major_version, \.minor_version)
        }
        found.resources = try info(oriel_xcb_res(raw), xcb_res_query_version_reply_t.self) {
            ("XResQueryVersion", xcb_res_query_version(raw, 1, 2).sequence, \.server_major, \.server_minor)
        }
        return found
    }

    /// - Parameters:
    ///   - data: the server's data of the extension.
    ///   - ask: sends the request for its version: the request's name and number, and the two fields of its answer.
    private func info<Answer, Number: BinaryInteger>(
        _ data: UnsafePointer<xcb_query_extension_reply_t>?,
        _ answer: Answer.Type,
        _ ask: () -> (String, UInt32, KeyPath<Answer, Number>, KeyPath<Answer, Number>)
    ) throws(X11Error) -> XExtensions.Info? {
        guard let data = data?.pointee, data.present != 0 else { return nil }
        let (request, sequence, major, minor) = ask()
        let found: Answer = try value(request, sequence)
        let version = (UInt32(found[keyPath: major]), UInt32(found[keyPath: minor]))
        return XExtensions.Info(opcode: data.major_opcode, firstEvent: data.first_event, version: version)
    }
}
