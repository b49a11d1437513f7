import CXCB

extension XConnection {
    /// The process that made a window, from the kernel by way of the X server (X-Resource 1.2, XResQueryClientIds); nil
    /// if it is on another machine, or the server does not know it.
    package func process(of window: UInt32) -> Int32? {
        guard let resources = extensions.resources, resources.version >= (1, 2) else { return nil }
        var wanted = xcb_res_client_id_spec_t(client: window, mask: XCB_RES_CLIENT_ID_MASK_LOCAL_CLIENT_PID.rawValue)
        let sequence = xcb_res_query_client_ids(raw, 1, &wanted).sequence
        guard let answer: XReply<xcb_res_query_client_ids_reply_t> = try? reply("XResQueryClientIds", sequence) else {
            return nil
        }
        var ids = xcb_res_query_client_ids_ids_iterator(answer.pointer)
        while ids.rem > 0, let id = ids.data {
            if id.pointee.spec.mask == XCB_RES_CLIENT_ID_MASK_LOCAL_CLIENT_PID.rawValue,
                xcb_res_client_id_value_value_length(id) > 0
            {
                return Int32(exactly: xcb_res_client_id_value_value(id).pointee).flatMap { $0 > 0 ? $0 : nil }
            }
            xcb_res_client_id_value_next(&ids)
        }
        return nil
    }
}
